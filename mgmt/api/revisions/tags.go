package revisions

import (
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// TagView describes a tag of a revision.
type TagView struct {
	Name     string    `json:"name"`
	Revision uint64    `json:"revision"`
	Time     time.Time `json:"time" doc:"Time it was added"`
	Author   string    `json:"author"`
	Comment  string    `json:"comment"`
}

func tagView(t store.Tag) TagView {
	return TagView{t.Name, t.Revision, t.Time, t.Author, t.Comment}
}

// tagForm matches valid tags. A tag is never a number, which would be ambiguous.
var tagForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]{0,63}$`)
})

// reserved lists words used by paths below /history.
var reserved = []string{"tags", "rollback"}

// tagFields is the body of a new tag.
type tagFields struct{}

// Params lists the fields for help responses and OpenAPI.
func (tagFields) Params() []field.Param {
	return []field.Param{
		{Name: "name", Format: "string", Options: []string{"non_blank", "required"}, Description: "Name of the tag: starts with a letter, followed by letters, digits and . _ -, at most 64 characters."},
		{Name: "revision", Format: "integer", Interval: "1,", Description: "Revision to tag; defaults to the latest."},
		{Name: "comment", Format: "string", Description: "Purpose."},
	}
}

func (s *Resource) listTags(c *rest.Call) (rest.List[TagView], error) {
	tags, err := s.deps.History.Tags()
	if err != nil {
		return rest.List[TagView]{}, err
	}
	var out []TagView
	for _, t := range tags {
		out = append(out, tagView(t))
	}
	return rest.NewList(c.Summary(), out), nil
}

func (s *Resource) addTag(c *rest.Call) (rest.Object[TagView], error) {
	t, err := readTag(c)
	if err != nil {
		return rest.Object[TagView]{}, err
	}
	if _, _, err := s.deps.History.Get(t.Revision); err != nil || t.Revision == 0 {
		return rest.Object[TagView]{}, rest.NotFound("the revision %d does not exist, or is no longer kept", t.Revision)
	}
	if err := c.Act(); err != nil {
		return rest.Object[TagView]{}, err
	}
	t.Time, t.Author = s.deps.Now().UTC(), c.By.Name
	if err := s.deps.History.AddTag(t); err != nil {
		return rest.Object[TagView]{}, err
	}
	return rest.Object[TagView]{Description: c.Summary(), Params: tagView(t), Message: "The revision has the tag, and is kept."}, nil
}

func readTag(c *rest.Call) (t store.Tag, err error) {
	body, err := c.Object(tagFields{})
	if err != nil {
		return t, err
	}
	t.Revision = c.Revision
	if t.Name, _ = body["name"].(string); !tagForm().MatchString(t.Name) || slices.Contains(reserved, t.Name) {
		return t, rest.BadRequest("name: %s is not allowed, allowed is a letter, then letters, digits and . _ -, at most 64 in all, but none of %q", rest.Quote(t.Name), reserved)
	}
	if v, sent := body["revision"]; sent {
		n, ok := field.ParseNumber(v)
		if !ok || n < 1 {
			return t, rest.BadRequest("revision must be a number from 1 on")
		}
		t.Revision = uint64(n)
	}
	if v, sent := body["comment"]; sent {
		text, ok := v.(string)
		if !ok {
			return t, rest.BadRequest("comment must be a text")
		}
		t.Comment = text
	}
	return t, rest.CheckComment(t.Comment)
}

func (s *Resource) deleteTag(c *rest.Call) (rest.Done, error) {
	name := c.Param("tag")
	tags, err := s.deps.History.Tags()
	if err != nil {
		return rest.Done{}, err
	}
	if !slices.ContainsFunc(tags, func(t store.Tag) bool { return t.Name == name }) {
		return rest.Done{}, rest.NotFound("the tag %s does not exist", rest.Quote(name))
	}
	if err := c.Act(); err != nil {
		return rest.Done{}, err
	}
	if err := s.deps.History.DeleteTag(name); err != nil {
		return rest.Done{}, err
	}
	return rest.NewDone(c.Summary(), "The tag has been deleted; its revision goes when it is old."), nil
}

// tagged returns the revision of a tag.
func (s *Resource) tagged(name string) (uint64, error) {
	tags, err := s.deps.History.Tags()
	if err != nil {
		return 0, err
	}
	at := slices.IndexFunc(tags, func(t store.Tag) bool { return t.Name == name })
	if at < 0 {
		return 0, rest.NotFound("the revision %s does not exist: there is no such tag", rest.Quote(name))
	}
	return tags[at].Revision, nil
}

// tagsOf returns the tags of a revision.
func tagsOf(tags []store.Tag, revision uint64) (out []string) {
	for _, t := range tags {
		if t.Revision == revision {
			out = append(out, t.Name)
		}
	}
	return out
}

func (s *Resource) tagOperations() []*rest.Operation {
	return []*rest.Operation{
		rest.Op(rest.Get, "/history/tags", rbac.HistoryShow, "List the tags of revisions", s.listTags),
		rest.Op(rest.Post, "/history/tags", rbac.HistoryRollback, "Tag a revision", s.addTag).Body(tagFields{}).Refers().Created(),
		rest.Op(rest.Delete, "/history/tags/{tag}", rbac.HistoryRollback, "Delete a tag", s.deleteTag),
	}
}
