package api

import (
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate"
)

func (s *Server) groupOperations() []*operation {
	const all, one = "/rbac/groups", "/rbac/groups/{group}"
	return []*operation{
		op(get, all, rbac.GroupList, "List groups", s.listGroups),
		op(post, all, rbac.GroupCreate, "Create a group", s.createGroup).body(&validate.RBACName).created(),
		op(get, one, rbac.GroupShow, "Get a group", s.getGroup),
		op(put, one, rbac.GroupModify, "Modify a group", s.updateGroup).body(&validate.GroupUpdate).refers(),
		op(del, one, rbac.GroupDelete, "Delete a group", s.deleteGroup),
		op(post, one+"/users", rbac.GroupModify, "Add a user to a group", s.joinGroup).body(&validate.RBACName).refers().created(),
		op(del, one+"/users/{user}", rbac.GroupModify, "Take a user out of a group", s.leaveGroup),
		op(post, one+"/farms", rbac.GroupModify, "Add a farm to a group", s.addGroupFarm).body(&validate.RBACName).refers().created(),
		op(del, one+"/farms/{farm}", rbac.GroupModify, "Take a farm from a group", s.removeGroupFarm),
	}
}

// GroupItem is a group as answers show it.
type GroupItem struct {
	Name      string         `json:"name"`
	Role      string         `json:"role" doc:"Blank for none: then its users may do nothing"`
	Users     []string       `json:"users"`
	Resources GroupResources `json:"resources"`
}

// GroupResources is what the users of a group see and change.
type GroupResources struct {
	Farms      []string `json:"farms"`
	Interfaces []string `json:"interfaces" doc:"Virtual interfaces"`
}

// groupItem shows a group; farms that are gone are left out.
func (c *call) groupItem(g rbac.Group) GroupItem {
	out := GroupItem{Name: g.Name, Role: g.Role, Users: append([]string{}, g.Users...), Resources: GroupResources{Farms: []string{}, Interfaces: append([]string{}, g.Interfaces...)}}
	for i := range c.cfg.Farms {
		if f := &c.cfg.Farms[i]; slices.Contains(g.Farms, f.ID) {
			out.Resources.Farms = append(out.Resources.Farms, f.Name)
		}
	}
	return out
}

func (s *Server) listGroups(c *call) (List[GroupItem], error) {
	var out []GroupItem
	for _, g := range s.deps.Users.Groups() {
		out = append(out, c.groupItem(g))
	}
	return list(c.op.summary, out), nil
}

func (s *Server) getGroup(c *call) (Object[GroupItem], error) {
	return c.answerGroup(c.param("group"), "")
}

// answerGroup answers with a group as it is now.
func (c *call) answerGroup(name, message string) (Object[GroupItem], error) {
	g, err := c.s.deps.Users.Group(name)
	if err != nil {
		return Object[GroupItem]{}, rbacRejection(err)
	}
	return Object[GroupItem]{Description: c.op.summary, Params: c.groupItem(g), Message: message}, nil
}

// changedGroup answers a change of a group, and logs it.
func (c *call) changedGroup(name string, err error, format string, args ...any) (Object[GroupItem], error) {
	if err != nil {
		return Object[GroupItem]{}, rbacRejection(err)
	}
	message := fmt.Sprintf(format, args...)
	c.log("group modified", "group", name, "what", message)
	return c.answerGroup(name, message)
}

// sentName reads a body that is only a name.
func (c *call) sentName() (string, error) {
	values, err := decode(c, &validate.RBACName)
	return values.Get("name").Text(), err
}

func (s *Server) createGroup(c *call) (Object[GroupItem], error) {
	name, err := c.sentName()
	if err != nil {
		return Object[GroupItem]{}, err
	}
	return c.changedGroup(name, c.users().AddGroup(name), "The group %s has been created.", name)
}

func (s *Server) updateGroup(c *call) (Object[GroupItem], error) {
	name := c.param("group")
	if _, err := s.deps.Users.Group(name); err != nil {
		return Object[GroupItem]{}, rbacRejection(err)
	}
	values, err := decode(c, &validate.GroupUpdate)
	if err != nil {
		return Object[GroupItem]{}, err
	}
	return c.changedGroup(name, c.users().GiveRole(name, values.Get("role").Text()), "The group %s has been modified.", name)
}

func (s *Server) deleteGroup(c *call) (Done, error) {
	name := c.param("group")
	if err := c.users().RemoveGroup(name); err != nil {
		return Done{}, rbacRejection(err)
	}
	c.log("group deleted", "group", name)
	return done(c.op.summary, fmt.Sprintf("The group %s has been deleted.", name)), nil
}

func (s *Server) joinGroup(c *call) (Object[GroupItem], error) {
	user, err := c.sentName()
	if err != nil {
		return Object[GroupItem]{}, err
	}
	group := c.param("group")
	return c.changedGroup(group, c.users().Join(group, user), "The user %s is in the group %s.", user, group)
}

func (s *Server) leaveGroup(c *call) (Object[GroupItem], error) {
	group, user := c.param("group"), c.param("user")
	return c.changedGroup(group, c.users().Leave(group, user), "The user %s is no longer in the group %s.", user, group)
}

func (s *Server) addGroupFarm(c *call) (Object[GroupItem], error) {
	name, err := c.sentName()
	if err != nil {
		return Object[GroupItem]{}, err
	}
	f, err := c.visible(name)
	if err != nil {
		return Object[GroupItem]{}, err
	}
	group := c.param("group")
	return c.changedGroup(group, c.users().AddFarm(group, f.ID), "The farm %s is in the group %s.", name, group)
}

func (s *Server) removeGroupFarm(c *call) (Object[GroupItem], error) {
	f, err := c.farm()
	if err != nil {
		return Object[GroupItem]{}, err
	}
	group := c.param("group")
	return c.changedGroup(group, c.users().RemoveFarm(group, f.ID), "The farm %s is no longer in the group %s.", f.Name, group)
}
