package people

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/people"
)

// OwnUser describes the caller.
type OwnUser struct {
	User    string       `json:"user"`
	WebGUI  string       `json:"webgui_permissions" enum:"true,false" doc:"true if you may log in"`
	API     string       `json:"zapi_permissions" enum:"true,false" doc:"true if you may use the API with a key"`
	Service rbac.Service `json:"service" enum:"local,ldap,oidc" doc:"Authentication source"`
	Second  string       `json:"totp" enum:"true,false" doc:"true if login requires a second factor"`
}

func (s *Resource) getOwnUser(c *rest.Call) (rest.Object[OwnUser], error) {
	u, err := s.deps.Users.User(c.By.Who.Name())
	return rest.Object[OwnUser]{Description: c.Summary(), Params: OwnUser{u.Name, rest.Truth(u.WebGUI), rest.Truth(u.API), u.Service, rest.Truth(asked(u))}}, rbacRejection(err)
}

// updateOwnUser changes the caller. A new password requires the current one, so an
// unattended session is not enough.
func (s *Resource) updateOwnUser(c *rest.Call) (rest.Changed, error) {
	values, err := rest.Decode(c, &people.OwnUserUpdate)
	if err != nil {
		return rest.Changed{}, err
	}
	name := c.By.Who.Name()
	if values.Has("webgui_permissions") && name != rbac.Root {
		return rest.Changed{}, rest.Refuse(http.StatusForbidden, "webgui_permissions: you may not change whether you may log in yourself")
	}
	change := userChange(values)
	book := s.sameUser(c, name)
	if err := s.checkNewPassword(c, name, values); err != nil {
		return rest.Changed{}, err
	}
	if err := s.changeOwn(c, book(c.Book(s.deps.Users)), name, values.Get("password").Text(), change); err != nil {
		return rest.Changed{}, err
	}
	s.log(c, "user modified", "user", name)
	return rest.Changed{Description: c.Summary(), Params: values.Sent(), Message: fmt.Sprintf("The user %s has been modified.", name)}, nil
}

// inTurn returns a book whose changes are made in the turn of the document.
type inTurn func(*rbac.Book) *rbac.Book

// sameUser returns a function for books that refuse changes if the user has changed since now, e.g.
// because an administrator has reset the password. It is called before the user's credentials are
// verified, which may take long.
func (s *Resource) sameUser(c *rest.Call, name string) inTurn {
	verified, _ := s.deps.Users.Epoch(name)
	return func(book *rbac.Book) *rbac.Book {
		return book.In(func(change func() error) error {
			return c.Turn(func() error {
				if now, exists := s.deps.Users.Epoch(name); !exists || now != verified {
					return rest.Refuse(http.StatusConflict, "the user %s was changed at the same time: try again", name)
				}
				return change()
			})
		}).Finishing(c.Finish)
	}
}

// checkNewPassword rejects callers who do not know the current password.
func (s *Resource) checkNewPassword(c *rest.Call, name string, values sentValues) error {
	if !values.Has("newpassword") {
		return nil
	}
	old := values.Get("password").Text()
	switch right, err := s.deps.Guard.Right(c.Request, name, old); {
	case err != nil:
		return Unauthorized(s.deps.Log, c.Request, err)
	case !right:
		return rest.BadRequest("password is not the one in force")
	case values.Get("newpassword").Text() == old:
		return rest.BadRequest("newpassword must differ from the one in force")
	}
	return nil
}

// changeOwn changes the caller. The password of root is the system's, which is valid here and
// at the console.
func (s *Resource) changeOwn(c *rest.Call, book *rbac.Book, name, old string, to rbac.UserChange) error {
	if name != rbac.Root || to.Password == nil {
		return s.changeUser(c, book, name, to)
	}
	new := *to.Password
	to.Password = nil
	err := s.choosing(c, to.Key, func() error {
		return book.ChangeRootPassword(c.Context, old, new, to)
	})
	if errors.Is(err, rbac.ErrWrong) {
		return rest.BadRequest("password is not the one in force")
	}
	var partly *rbac.PartlyError
	if err == nil || errors.As(err, &partly) {
		s.log(c, "password of root changed")
	}
	return err
}
