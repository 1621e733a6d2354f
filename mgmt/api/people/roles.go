package people

import (
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/people"
)

func (s *Resource) roleOperations() []*rest.Operation {
	const all, one = "/rbac/roles", "/rbac/roles/{role}"
	return []*rest.Operation{
		rest.Op(rest.Get, all, rbac.RoleMenu, "List roles", s.listRoles),
		rest.Op(rest.Post, all, rbac.RoleCreate, "Create a role", s.createRole).Body(&people.RoleCreate).Refers().Created().Outlives(),
		rest.Op(rest.Get, one, rbac.RoleShow, "Get a role", s.getRole),
		rest.Op(rest.Put, one, rbac.RoleModify, "Modify a role", s.updateRole).Body(roleFields{}).Outlives(),
		rest.Op(rest.Delete, one, rbac.RoleDelete, "Delete a role", s.deleteRole),
		rest.Op(rest.Get, "/rbac/menus", rbac.Open, "Get what you see of the menus", s.getMenus),
		rest.Op(rest.Get, "/rbac/permissions", rbac.Open, "Get your permissions", s.getOwnPermissions),
	}
}

// RoleItem is an entry of the list of roles.
type RoleItem struct {
	Name       string `json:"name"`
	Predefined string `json:"predefined" enum:"true,false" doc:"true if it is built in and cannot be changed"`
}

// Switches holds the state of each permission, by section and name.
type Switches map[string]map[string]string

// switches converts a permission predicate into Switches.
func switches(may func(rbac.Permission) bool) Switches {
	out := Switches{}
	for _, p := range rbac.Permissions() {
		if out[p.Section()] == nil {
			out[p.Section()] = map[string]string{}
		}
		out[p.Section()][p.Name()] = rest.Truth(may(p))
	}
	return out
}

func (s *Resource) listRoles(c *rest.Call) (rest.List[RoleItem], error) {
	var out []RoleItem
	for _, r := range s.deps.Users.Roles() {
		out = append(out, RoleItem{Name: r.Name, Predefined: rest.Truth(r.Predefined)})
	}
	return rest.NewList(c.Summary(), out), nil
}

func (s *Resource) getRole(c *rest.Call) (rest.Object[Switches], error) {
	r, err := s.deps.Users.Role(c.Param("role"))
	if err != nil {
		return rest.Object[Switches]{}, rbacRejection(err)
	}
	return rest.Object[Switches]{Description: c.Summary(), Params: switches(r.May)}, nil
}

func (s *Resource) createRole(c *rest.Call) (rest.Object[Switches], error) {
	values, err := rest.Decode(c, &people.RoleCreate)
	if err != nil {
		return rest.Object[Switches]{}, err
	}
	if err := s.grants(c, s.permissionsOf(values.Get("copy_from").Text())); err != nil {
		return rest.Object[Switches]{}, err
	}
	r, err := c.Book(s.deps.Users).AddRole(values.Get("name").Text(), values.Get("copy_from").Text())
	if err != nil {
		return rest.Object[Switches]{}, rbacRejection(err)
	}
	s.log(c, "role created", "role", r.Name)
	return rest.Object[Switches]{Description: c.Summary(), Params: switches(r.May), Message: fmt.Sprintf("The role %s has been created.", r.Name)}, nil
}

// grants refuses to give a role the permission to set programs unless the caller has it,
// because starting programs exceeds all other permissions.
func (s *Resource) grants(c *rest.Call, may func(rbac.Permission) bool) error {
	if !may(rbac.ProgramSet) {
		return nil
	}
	return c.SetProgram("the role allows to start programs")
}

// permissionsOf returns the permissions of a role; a missing role has none.
func (s *Resource) permissionsOf(name string) func(rbac.Permission) bool {
	r, err := s.deps.Users.Role(name)
	if err != nil {
		return func(rbac.Permission) bool { return false }
	}
	return r.May
}

// roleFields is the body of a change of a role: sections, each an object of permissions.
type roleFields struct{}

// Params lists the sections for OpenAPI.
func (roleFields) Params() (out []field.Param) {
	for _, p := range rbac.Permissions() {
		if len(out) == 0 || out[len(out)-1].Name != p.Section() {
			out = append(out, field.Param{Name: p.Section(), Format: "object", Description: "Permissions, each true or false:"})
		}
		last := &out[len(out)-1]
		last.Description += " " + p.Name()
	}
	return out
}

func (s *Resource) updateRole(c *rest.Call) (rest.Object[Switches], error) {
	name := c.Param("role")
	if _, err := s.deps.Users.Role(name); err != nil {
		return rest.Object[Switches]{}, rbacRejection(err)
	}
	body, err := c.Object(roleFields{})
	if err != nil {
		return rest.Object[Switches]{}, err
	}
	set, err := sentSwitches(body)
	if err != nil {
		return rest.Object[Switches]{}, err
	}
	if err := s.grants(c, func(p rbac.Permission) bool { return set[p] }); err != nil {
		return rest.Object[Switches]{}, err
	}
	r, err := c.Book(s.deps.Users).ChangeRole(name, set)
	if err != nil {
		return rest.Object[Switches]{}, rbacRejection(err)
	}
	s.log(c, "role modified", "role", name)
	return rest.Object[Switches]{Description: c.Summary(), Params: switches(r.May), Message: fmt.Sprintf("The role %s has been modified.", name)}, nil
}

// sentSwitches reads the sections of a body.
func sentSwitches(body map[string]any) (map[rbac.Permission]bool, error) {
	set := map[rbac.Permission]bool{}
	for section, raw := range body {
		names, is := raw.(map[string]any)
		if !is {
			return nil, rest.BadRequest("%s must be an object of permissions, each true or false", section)
		}
		for name, value := range names {
			on, is := field.ParseBool(value)
			if !is {
				return nil, rest.BadRequest("%s: %s must be true or false", section, rest.Quote(name))
			}
			set[rbac.Permission(section+"."+name)] = on
		}
	}
	return set, nil
}

func (s *Resource) deleteRole(c *rest.Call) (rest.Done, error) {
	name := c.Param("role")
	if err := c.Book(s.deps.Users).RemoveRole(name); err != nil {
		return rest.Done{}, rbacRejection(err)
	}
	s.log(c, "role deleted", "role", name)
	return rest.NewDone(c.Summary(), fmt.Sprintf("The role %s has been deleted.", name)), nil
}

// getOwnPermissions responds with the caller's permissions in the format of a role, so that
// user interfaces can hide the rest.
func (s *Resource) getOwnPermissions(c *rest.Call) (rest.Object[Switches], error) {
	return rest.Object[Switches]{Description: c.Summary(), Params: switches(c.By.May)}, nil
}

// getMenus responds with the GUI menus for the caller: the sections with any permitted
// content or action.
func (s *Resource) getMenus(c *rest.Call) (rest.Object[map[string]string], error) {
	out := map[string]string{}
	for section := range switches(c.By.May) {
		menu := rbac.Permission(section + ".menu")
		out[section] = rest.Truth(slices.ContainsFunc(rbac.Permissions(), func(p rbac.Permission) bool {
			return p.Section() == section && (p == menu || !menu.Known()) && c.By.May(p)
		}))
	}
	return rest.Object[map[string]string]{Description: c.Summary(), Params: out}, nil
}
