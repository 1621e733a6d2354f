package api

import (
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate"
)

func (s *Server) roleOperations() []*operation {
	const all, one = "/rbac/roles", "/rbac/roles/{role}"
	return []*operation{
		op(get, all, rbac.RoleMenu, "List roles", s.listRoles),
		op(post, all, rbac.RoleCreate, "Create a role", s.createRole).body(&validate.RoleCreate).refers().created(),
		op(get, one, rbac.RoleShow, "Get a role", s.getRole),
		op(put, one, rbac.RoleModify, "Modify a role", s.updateRole).body(roleFields{}),
		op(del, one, rbac.RoleDelete, "Delete a role", s.deleteRole),
		op(get, "/rbac/menus", rbac.Open, "Get what you see of the menus", s.getMenus),
	}
}

// RoleItem is a line of the list of roles.
type RoleItem struct {
	Name       string `json:"name"`
	Predefined string `json:"predefined" enum:"true,false" doc:"Whether it comes with Sluice and cannot be changed"`
}

// Switches says of each permission of each section whether it is given.
type Switches map[string]map[string]string

// switches shows what may says of permissions.
func switches(may func(rbac.Permission) bool) Switches {
	out := Switches{}
	for _, p := range rbac.Permissions() {
		if out[p.Section()] == nil {
			out[p.Section()] = map[string]string{}
		}
		out[p.Section()][p.Name()] = truth(may(p))
	}
	return out
}

func (s *Server) listRoles(c *call) (List[RoleItem], error) {
	var out []RoleItem
	for _, r := range s.deps.Users.Roles() {
		out = append(out, RoleItem{Name: r.Name, Predefined: truth(r.Predefined)})
	}
	return list(c.op.summary, out), nil
}

func (s *Server) getRole(c *call) (Object[Switches], error) {
	r, err := s.deps.Users.Role(c.param("role"))
	if err != nil {
		return Object[Switches]{}, rbacRejection(err)
	}
	return Object[Switches]{Description: c.op.summary, Params: switches(r.May)}, nil
}

func (s *Server) createRole(c *call) (Object[Switches], error) {
	values, err := decode(c, &validate.RoleCreate)
	if err != nil {
		return Object[Switches]{}, err
	}
	r, err := c.users().AddRole(values.Get("name").Text(), values.Get("copy_from").Text())
	if err != nil {
		return Object[Switches]{}, rbacRejection(err)
	}
	c.log("role created", "role", r.Name)
	return Object[Switches]{Description: c.op.summary, Params: switches(r.May), Message: fmt.Sprintf("The role %s has been created.", r.Name)}, nil
}

// roleFields is the body of a change of a role: sections, each an object of
// permissions.
type roleFields struct{}

// Params lists the sections for the document.
func (roleFields) Params() (out []validate.Param) {
	for _, p := range rbac.Permissions() {
		if len(out) == 0 || out[len(out)-1].Name != p.Section() {
			out = append(out, validate.Param{Name: p.Section(), Format: "object", Description: "Permissions, each true or false:"})
		}
		last := &out[len(out)-1]
		last.Description += " " + p.Name()
	}
	return out
}

func (s *Server) updateRole(c *call) (Object[Switches], error) {
	name := c.param("role")
	if _, err := s.deps.Users.Role(name); err != nil {
		return Object[Switches]{}, rbacRejection(err)
	}
	body, err := c.object(roleFields{})
	if err != nil {
		return Object[Switches]{}, err
	}
	set, err := sentSwitches(body)
	if err != nil {
		return Object[Switches]{}, err
	}
	r, err := c.users().ChangeRole(name, set)
	if err != nil {
		return Object[Switches]{}, rbacRejection(err)
	}
	c.log("role modified", "role", name)
	return Object[Switches]{Description: c.op.summary, Params: switches(r.May), Message: fmt.Sprintf("The role %s has been modified.", name)}, nil
}

// sentSwitches reads the sections of a body.
func sentSwitches(body map[string]any) (map[rbac.Permission]bool, error) {
	set := map[rbac.Permission]bool{}
	for section, raw := range body {
		names, is := raw.(map[string]any)
		if !is {
			return nil, badRequest("%s must be an object of permissions, each true or false", section)
		}
		for name, value := range names {
			on, is := validate.ParseBool(value)
			if !is {
				return nil, badRequest("%s: %s must be true or false", section, quoteName(name))
			}
			set[rbac.Permission(section+"."+name)] = on
		}
	}
	return set, nil
}

func (s *Server) deleteRole(c *call) (Done, error) {
	name := c.param("role")
	if err := c.users().RemoveRole(name); err != nil {
		return Done{}, rbacRejection(err)
	}
	c.log("role deleted", "role", name)
	return done(c.op.summary, fmt.Sprintf("The role %s has been deleted.", name)), nil
}

// getMenus answers which menus of the GUI the caller sees: those of sections with
// something to see or to do.
func (s *Server) getMenus(c *call) (Object[map[string]string], error) {
	out := map[string]string{}
	for section := range switches(c.by.May) {
		menu := rbac.Permission(section + ".menu")
		out[section] = truth(slices.ContainsFunc(rbac.Permissions(), func(p rbac.Permission) bool {
			return p.Section() == section && (p == menu || !menu.Known()) && c.by.May(p)
		}))
	}
	return Object[map[string]string]{Description: c.op.summary, Params: out}, nil
}
