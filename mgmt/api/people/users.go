package people

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/people"
)

func (s *Resource) userOperations() []*rest.Operation {
	const all, one = "/rbac/users", "/rbac/users/{user}"
	return []*rest.Operation{
		rest.Op(rest.Get, all, rbac.UserList, "List users", s.listUsers),
		rest.Op(rest.Post, all, rbac.UserCreate, "Create a user", s.createUser).
			Body(&people.UserCreate).Refers().Created().Outlives().Verifies(),
		rest.Op(rest.Get, one, rbac.UserShow, "Get a user", s.getUser),
		rest.Op(rest.Put, one, rbac.UserModify, "Modify a user", s.updateUser).
			Body(&people.UserUpdate).Outlives().Verifies(),
		rest.Op(rest.Delete, one, rbac.UserDelete, "Delete a user", s.deleteUser),
		rest.Op(rest.Get, "/system/users", rbac.Open, "Get your own user", s.getOwnUser),
		rest.Op(rest.Post, "/system/users", rbac.Open, "Modify your own user", s.updateOwnUser).
			Body(&people.OwnUserUpdate).Outlives().Verifies(),
	}
}

// UserItem describes a user, without password and key.
type UserItem struct {
	Name    string       `json:"name"`
	Service rbac.Service `json:"service" enum:"local,ldap,oidc" doc:"Authentication source"`
	WebGUI  string       `json:"webgui_permissions" enum:"true,false" doc:"true if the user may log in"`
	API     string       `json:"zapi_permissions" enum:"true,false" doc:"true if the user may use the API with a key"`
	Group   string       `json:"group" doc:"Empty if the user is in no group and has no permissions"`
	Second  string       `json:"totp" enum:"true,false" doc:"true if login requires a second factor"`
}

func userItem(u rbac.UserView) UserItem {
	return UserItem{Name: u.Name, Service: u.Service, WebGUI: rest.Truth(u.WebGUI), API: rest.Truth(u.API), Group: u.Group, Second: rest.Truth(asked(u))}
}

// asked reports whether the user has an active second factor.
func asked(u rbac.UserView) bool {
	state, _ := u.Second()
	return state == rbac.SecondOn
}

// rbacRejection converts an error about users, groups and roles into a rejection.
func rbacRejection(err error) error {
	var partly *rbac.PartlyError
	var known *rbac.Error
	switch {
	case errors.As(err, &partly):
		return partlyRejection(partly)
	case !errors.As(err, &known):
		return err
	}
	switch known.Kind {
	case rbac.Missing:
		return rest.Refuse(http.StatusNotFound, "%s", known.Message)
	case rbac.Forbidden:
		return rest.Refuse(http.StatusForbidden, "%s", known.Message)
	}
	return rest.BadRequest("%s", known.Message)
}

// partlyRejection says also what has been changed. The rejection for the reason alone would not.
func partlyRejection(err *rbac.PartlyError) error {
	r := *rest.RejectionOf(rbacRejection(err.Reason), false)
	if r.Message = err.Error(); r.Status == http.StatusInternalServerError {
		r.Message = rbac.PartlyChanged + rest.InternalFault
	}
	r.Cause = err
	return &r
}

func (s *Resource) listUsers(c *rest.Call) (rest.List[UserItem], error) {
	var out []UserItem
	for _, u := range s.deps.Users.Users() {
		out = append(out, userItem(u))
	}
	return rest.NewList(c.Summary(), out), nil
}

// namedUser returns the user in the path, which must not be root.
func (s *Resource) namedUser(c *rest.Call) (rbac.UserView, error) {
	name := c.Param("user")
	if name == rbac.Root {
		return rbac.UserView{}, rest.NotFound("root is none of the users that are made: it cannot be deleted, and what it may do is changed with PUT /system/users")
	}
	u, err := s.deps.Users.User(name)
	return u, rbacRejection(err)
}

func (s *Resource) getUser(c *rest.Call) (rest.Object[UserItem], error) {
	u, err := s.namedUser(c)
	return rest.Object[UserItem]{Description: c.Summary(), Params: userItem(u)}, err
}

func (s *Resource) createUser(c *rest.Call) (rest.Object[UserItem], error) {
	values, err := rest.Decode(c, &people.UserCreate)
	if err != nil {
		return rest.Object[UserItem]{}, err
	}
	name, service := values.Get("name").Text(), rbac.Local
	if text := values.Get("service").Text(); text != "" {
		service = rbac.Service(text)
	}
	if service == rbac.Local && !values.Has("password") {
		return rest.Object[UserItem]{}, rest.BadRequest("password is required for users of the service local")
	}
	group, err := s.firstGroup(c, values.Get("group").Text())
	if err != nil {
		return rest.Object[UserItem]{}, err
	}
	book := c.Book(s.deps.Users).In(c.Turn)
	if err := book.AddMember(group, name, service, values.Get("password").Text()); err != nil {
		return rest.Object[UserItem]{}, rbacRejection(err)
	}
	about := []any{"user", name}
	if group != "" {
		about = append(about, "group", group)
	}
	s.log(c, "user created", about...)
	u, err := s.deps.Users.User(name)
	return rest.Object[UserItem]{Description: c.Summary(), Params: userItem(u), Message: createdUser(name, group)}, rbacRejection(err)
}

// firstGroup returns the group of a new user. Callers confined to their group create users
// in it. Other groups need the permission to change groups.
func (s *Resource) firstGroup(c *rest.Call, named string) (string, error) {
	own := c.By.Who.Group()
	if named == "" && !c.SeesAll() {
		named = own
	}
	if named == "" {
		return "", nil
	}
	if named != own && !c.By.Who.May(rbac.GroupModify) {
		return "", rest.Refuse(http.StatusForbidden, "group: you may create users in your own group only, because you lack the permission %s", rbac.GroupModify)
	}
	return named, s.grantsGroup(c, named)
}

func createdUser(name, group string) string {
	if group == "" {
		return fmt.Sprintf("The user %s has been created. It may do nothing before it is in a group with a role.", name)
	}
	return fmt.Sprintf("The user %s has been created in the group %s.", name, group)
}

// log records who changed users, groups or roles.
func (s *Resource) log(c *rest.Call, what string, about ...any) {
	s.deps.Log.Info(what, append(about, "by", c.By.Name, "source", c.By.Source)...)
}

func (s *Resource) updateUser(c *rest.Call) (rest.Changed, error) {
	u, err := s.namedUser(c)
	if err != nil {
		return rest.Changed{}, err
	}
	values, err := rest.Decode(c, &people.UserUpdate)
	if err != nil {
		return rest.Changed{}, err
	}
	if err := s.changeUser(c, c.Book(s.deps.Users).In(c.Turn), u.Name, userChange(values)); err != nil {
		return rest.Changed{}, err
	}
	s.log(c, "user modified", "user", u.Name)
	return rest.Changed{Description: c.Summary(), Params: values.Sent(), Message: fmt.Sprintf("The user %s has been modified.", u.Name)}, nil
}

// changeUser changes a user, except for the password of root.
func (s *Resource) changeUser(c *rest.Call, book *rbac.Book, name string, to rbac.UserChange) error {
	return s.choosing(c, to.Key, func() error { return book.ChangeUser(name, to) })
}

// choosing makes a change that may set a key. The rejection of a key that is already in use
// reveals another user's key, so choosing keys is rate-limited.
func (s *Resource) choosing(c *rest.Call, key *string, change func() error) error {
	if key == nil || *key == "" || auth.Trusted(c.Request) {
		return rbacRejection(change())
	}
	err := s.deps.Guard.ChooseKey(c.Request, c.By.Who.Name(), change)
	var locked *auth.LockedError
	if errors.As(err, &locked) {
		return Unauthorized(s.deps.Log, c.Request, err)
	}
	return rbacRejection(err)
}

// sentValues holds the values of a body about a user.
type sentValues interface {
	Has(name string) bool
	Get(name string) field.Value
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

func (s *Resource) deleteUser(c *rest.Call) (rest.Done, error) {
	u, err := s.namedUser(c)
	if err != nil {
		return rest.Done{}, err
	}
	if err := c.Book(s.deps.Users).RemoveUser(u.Name); err != nil {
		return rest.Done{}, rbacRejection(err)
	}
	s.log(c, "user deleted", "user", u.Name)
	return rest.NewDone(c.Summary(), fmt.Sprintf("The user %s has been deleted.", u.Name)), nil
}
