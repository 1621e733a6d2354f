package api

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate"
)

func (s *Server) userOperations() []*operation {
	const all, one = "/rbac/users", "/rbac/users/{user}"
	return []*operation{
		op(get, all, rbac.UserList, "List users", s.listUsers),
		op(post, all, rbac.UserCreate, "Create a user", s.createUser).body(&validate.UserCreate).created(),
		op(get, one, rbac.UserShow, "Get a user", s.getUser),
		op(put, one, rbac.UserModify, "Modify a user", s.updateUser).body(&validate.UserUpdate),
		op(del, one, rbac.UserDelete, "Delete a user", s.deleteUser),
		op(get, "/system/users", rbac.Open, "Get your own user", s.getOwnUser),
		op(post, "/system/users", rbac.Open, "Modify your own user", s.updateOwnUser).body(&validate.OwnUserUpdate),
	}
}

// UserItem is a user as answers show it: never a password or a key.
type UserItem struct {
	Name    string       `json:"name"`
	Service rbac.Service `json:"service" enum:"local,ldap" doc:"Who knows the password"`
	WebGUI  string       `json:"webgui_permissions" enum:"true,false" doc:"Whether the user may log in"`
	API     string       `json:"zapi_permissions" enum:"true,false" doc:"Whether the user may use the API with a key"`
	Group   string       `json:"group" doc:"Blank when the user is in none and may do nothing"`
}

func userItem(u rbac.UserView) UserItem {
	return UserItem{Name: u.Name, Service: u.Service, WebGUI: truth(u.WebGUI), API: truth(u.API), Group: u.Group}
}

// rbacRejection turns an error of users, groups and roles into an answer.
func rbacRejection(err error) error {
	var known *rbac.Error
	if !errors.As(err, &known) {
		return err
	}
	if known.Kind == rbac.Missing {
		return refuse(http.StatusNotFound, "%s", known.Message)
	}
	return badRequest("%s", known.Message)
}

func (s *Server) listUsers(c *call) (List[UserItem], error) {
	var out []UserItem
	for _, u := range s.deps.Users.Users() {
		out = append(out, userItem(u))
	}
	return list(c.op.summary, out), nil
}

// namedUser is the user the path names; root is none of those.
func (c *call) namedUser() (rbac.UserView, error) {
	name := c.param("user")
	if name == rbac.Root {
		return rbac.UserView{}, notFound("root is no such user: /system/users is about root's settings")
	}
	u, err := c.s.deps.Users.User(name)
	return u, rbacRejection(err)
}

func (s *Server) getUser(c *call) (Object[UserItem], error) {
	u, err := c.namedUser()
	return Object[UserItem]{Description: c.op.summary, Params: userItem(u)}, err
}

func (s *Server) createUser(c *call) (Object[UserItem], error) {
	values, err := decode(c, &validate.UserCreate)
	if err != nil {
		return Object[UserItem]{}, err
	}
	name, service := values.Get("name").Text(), rbac.Local
	if text := values.Get("service").Text(); text != "" {
		service = rbac.Service(text)
	}
	if service == rbac.Local && !values.Has("password") {
		return Object[UserItem]{}, badRequest("password is required for users of the service local")
	}
	if err := c.users().AddUser(name, service, values.Get("password").Text()); err != nil {
		return Object[UserItem]{}, rbacRejection(err)
	}
	c.log("user created", "user", name)
	u, err := s.deps.Users.User(name)
	return Object[UserItem]{Description: c.op.summary, Params: userItem(u), Message: fmt.Sprintf("The user %s has been created. It may do nothing before it is in a group with a role.", name)}, rbacRejection(err)
}

// log writes who changed what of users, groups and roles.
func (c *call) log(what string, about ...any) {
	c.s.deps.Log.Info(what, append(about, "by", c.by.Name, "source", c.by.Source)...)
}

func (s *Server) updateUser(c *call) (Changed, error) {
	u, err := c.namedUser()
	if err != nil {
		return Changed{}, err
	}
	values, err := decode(c, &validate.UserUpdate)
	if err != nil {
		return Changed{}, err
	}
	if err := c.users().ChangeUser(u.Name, userChange(values)); err != nil {
		return Changed{}, rbacRejection(err)
	}
	c.log("user modified", "user", u.Name)
	return Changed{Description: c.op.summary, Params: values.Sent(), Message: fmt.Sprintf("The user %s has been modified.", u.Name)}, nil
}

// sentValues are the values of a body about a user.
type sentValues interface {
	Has(name string) bool
	Get(name string) validate.Value
}

func userChange(sent sentValues) rbac.UserChange {
	return rbac.UserChange{Password: sentText(sent, "newpassword"), Key: sentText(sent, "zapikey"), WebGUI: sentFlag(sent, "webgui_permissions"), API: sentFlag(sent, "zapi_permissions")}
}

func sentText(sent sentValues, name string) *string {
	if !sent.Has(name) {
		return nil
	}
	text := sent.Get(name).Text()
	return &text
}

func sentFlag(sent sentValues, name string) *bool {
	if !sent.Has(name) {
		return nil
	}
	flag := sent.Get(name).Bool()
	return &flag
}

func (s *Server) deleteUser(c *call) (Done, error) {
	u, err := c.namedUser()
	if err != nil {
		return Done{}, err
	}
	if err := c.users().RemoveUser(u.Name); err != nil {
		return Done{}, rbacRejection(err)
	}
	c.log("user deleted", "user", u.Name)
	return done(c.op.summary, fmt.Sprintf("The user %s has been deleted.", u.Name)), nil
}

// OwnUser is what one may see of oneself.
type OwnUser struct {
	User    string       `json:"user"`
	API     string       `json:"zapi_permissions" enum:"true,false" doc:"Whether you may use the API with a key"`
	Service rbac.Service `json:"service" doc:"Who knows the password"`
}

func (s *Server) getOwnUser(c *call) (Object[OwnUser], error) {
	u, err := s.deps.Users.User(c.by.Who.Name())
	return Object[OwnUser]{Description: c.op.summary, Params: OwnUser{User: u.Name, API: truth(u.API), Service: u.Service}}, rbacRejection(err)
}

// updateOwnUser changes who asks. A new password needs the one in force: a session
// that was left open is not enough.
func (s *Server) updateOwnUser(c *call) (Changed, error) {
	values, err := decode(c, &validate.OwnUserUpdate)
	if err != nil {
		return Changed{}, err
	}
	name := c.by.Who.Name()
	if values.Has("newpassword") {
		switch right, err := s.guard.Right(c.r, name, values.Get("password").Text()); {
		case err != nil:
			return Changed{}, s.unauthorized(c.r, err)
		case !right:
			return Changed{}, badRequest("password is not the one in force")
		case values.Get("newpassword").Text() == values.Get("password").Text():
			return Changed{}, badRequest("newpassword must differ from the one in force")
		}
	}
	if err := c.users().ChangeUser(name, userChange(values)); err != nil {
		return Changed{}, rbacRejection(err)
	}
	c.log("user modified", "user", name)
	return Changed{Description: c.op.summary, Params: values.Sent(), Message: fmt.Sprintf("The user %s has been modified.", name)}, nil
}
