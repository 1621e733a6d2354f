package people

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// Keys stores the API keys; *store.Store implements it.
type Keys interface {
	auth.Finder
	CreateKey(user, comment string) (secret string, key store.Key, err error)
	Keys() []store.Key
	DeleteKey(id uint64) error
}

// KeyView describes an API key.
type KeyView struct {
	ID      uint64    `json:"id"`
	User    string    `json:"user"`
	Comment string    `json:"comment"`
	Created time.Time `json:"created"`
}

func keyView(k store.Key) KeyView {
	return KeyView{ID: k.ID, User: k.User, Comment: k.Comment, Created: k.Created}
}

func (s *Resource) listKeys(c *rest.Call) (rest.List[KeyView], error) {
	var out []KeyView
	for _, k := range s.deps.Keys.Keys() {
		out = append(out, keyView(k))
	}
	return rest.NewList(c.Summary(), out), nil
}

// maxKeys bounds the number of keys, as every request is compared with all of them.
const maxKeys = 1000

// NewKey is a new key. Only this response shows its text.
type NewKey struct {
	KeyView
	Key string `json:"key" doc:"The key; it is never shown again"`
}

// keyFields is the body for creating a key; it may be empty.
type keyFields struct{}

// Params lists the fields for OpenAPI.
func (keyFields) Params() []field.Param {
	return []field.Param{{Name: "comment", Description: "Purpose of the key."}}
}

func (s *Resource) createKey(c *rest.Call) (rest.Object[NewKey], error) {
	body, err := c.Fields(keyFields{})
	if err != nil {
		return rest.Object[NewKey]{}, err
	}
	comment, ok := body["comment"].(string)
	if !ok && body["comment"] != nil {
		return rest.Object[NewKey]{}, rest.BadRequest("comment must be a text")
	}
	if err := rest.CheckComment(comment); err != nil {
		return rest.Object[NewKey]{}, err
	}
	if len(s.deps.Keys.Keys()) >= maxKeys {
		return rest.Object[NewKey]{}, rest.Refuse(409, "there are %d keys already: delete one first", maxKeys)
	}
	if err := c.Act(); err != nil {
		return rest.Object[NewKey]{}, err
	}
	secret, key, err := s.deps.Keys.CreateKey("root", comment)
	if err != nil {
		return rest.Object[NewKey]{}, err
	}
	s.deps.Log.Info("API key created", "id", key.ID, "by", c.By.Name, "source", c.By.Source)
	return rest.Object[NewKey]{
		Description: c.Summary(), Params: NewKey{KeyView: keyView(key), Key: secret},
		Message: "The key has been created. It is not shown again.",
	}, nil
}

func (s *Resource) deleteKey(c *rest.Call) (rest.Done, error) {
	text := c.Param("key")
	id, err := strconv.ParseUint(text, 10, 63)
	if err != nil || strconv.FormatUint(id, 10) != text {
		return rest.Done{}, rest.NotFound("the key %s does not exist", rest.Quote(text))
	}
	known := slices.ContainsFunc(s.deps.Keys.Keys(), func(k store.Key) bool { return k.ID == id })
	if err := c.Act(); known && err != nil {
		return rest.Done{}, err
	}
	if err := s.deps.Keys.DeleteKey(id); err != nil {
		if rest.RejectionOf(err, false).Status == 404 {
			return rest.Done{}, rest.NotFound("the key %d does not exist", id)
		}
		return rest.Done{}, err
	}
	s.deps.Log.Info("API key deleted", "id", id, "by", c.By.Name, "source", c.By.Source)
	return rest.NewDone(c.Summary(), fmt.Sprintf("The key %d has been deleted.", id)), nil
}

func (s *Resource) keyOperations() []*rest.Operation {
	return []*rest.Operation{
		rest.Op(rest.Get, "/keys", rbac.RootOnly, "List API keys", s.listKeys),
		rest.Op(rest.Post, "/keys", rbac.RootOnly, "Create an API key", s.createKey).MayHaveBody(keyFields{}).Created().Outlives(),
		rest.Op(rest.Delete, "/keys/{key}", rbac.RootOnly, "Delete an API key", s.deleteKey),
	}
}
