package api

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// KeyView is what can be seen of an API key.
type KeyView struct {
	ID      uint64    `json:"id"`
	User    string    `json:"user"`
	Comment string    `json:"comment"`
	Created time.Time `json:"created"`
}

func keyView(k store.Key) KeyView {
	return KeyView{ID: k.ID, User: k.User, Comment: k.Comment, Created: k.Created}
}

func (s *Server) listKeys(c *call) (List[KeyView], error) {
	var out []KeyView
	for _, k := range s.deps.Keys.Keys() {
		out = append(out, keyView(k))
	}
	return list(c.op.summary, out), nil
}

// maxKeys bounds how many keys may exist: every request is compared with all.
const maxKeys = 1000

// NewKey is a key just made; this is the only answer that shows its text.
type NewKey struct {
	KeyView
	Key string `json:"key" doc:"The key itself; it is never shown again"`
}

// keyFields is the body of the creation of a key; it may be empty.
type keyFields struct{}

// Params lists the fields for the document.
func (keyFields) Params() []validate.Param {
	return []validate.Param{{Name: "comment", Description: "What the key is for."}}
}

func (s *Server) createKey(c *call) (Object[NewKey], error) {
	body, err := c.fields(keyFields{})
	if err != nil {
		return Object[NewKey]{}, err
	}
	comment, ok := body["comment"].(string)
	if !ok && body["comment"] != nil {
		return Object[NewKey]{}, badRequest("comment must be a text")
	}
	if err := checkComment(comment); err != nil {
		return Object[NewKey]{}, err
	}
	if len(s.deps.Keys.Keys()) >= maxKeys {
		return Object[NewKey]{}, refuse(409, "there are %d keys already: delete one first", maxKeys)
	}
	if err := c.act(); err != nil {
		return Object[NewKey]{}, err
	}
	secret, key, err := s.deps.Keys.CreateKey("root", comment)
	if err != nil {
		return Object[NewKey]{}, err
	}
	s.deps.Log.Info("API key created", "id", key.ID, "by", c.by.Name, "source", c.by.Source)
	return Object[NewKey]{
		Description: c.op.summary, Params: NewKey{KeyView: keyView(key), Key: secret},
		Message: "The key has been created. It is not shown again.",
	}, nil
}

func (s *Server) deleteKey(c *call) (Done, error) {
	text := c.param("key")
	id, err := strconv.ParseUint(text, 10, 63)
	if err != nil || strconv.FormatUint(id, 10) != text {
		return Done{}, notFound("the key %s does not exist", quoteName(text))
	}
	known := slices.ContainsFunc(s.deps.Keys.Keys(), func(k store.Key) bool { return k.ID == id })
	if err := c.act(); known && err != nil {
		return Done{}, err
	}
	if err := s.deps.Keys.DeleteKey(id); err != nil {
		if rejectionOf(err, false).status == 404 {
			return Done{}, notFound("the key %d does not exist", id)
		}
		return Done{}, err
	}
	s.deps.Log.Info("API key deleted", "id", id, "by", c.by.Name, "source", c.by.Source)
	return done(c.op.summary, fmt.Sprintf("The key %d has been deleted.", id)), nil
}
