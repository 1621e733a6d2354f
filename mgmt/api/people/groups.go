package people

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/people"
)

func (s *Resource) groupOperations() []*rest.Operation {
	const all, one = "/rbac/groups", "/rbac/groups/{group}"
	return []*rest.Operation{
		rest.Op(rest.Get, all, rbac.GroupList, "List groups", s.listGroups),
		rest.Op(rest.Post, all, rbac.GroupCreate, "Create a group", s.createGroup).Body(&people.Name).Created().Outlives(),
		rest.Op(rest.Get, one, rbac.GroupShow, "Get a group", s.getGroup),
		rest.Op(rest.Put, one, rbac.GroupModify, "Modify a group", s.updateGroup).Body(&people.GroupUpdate).Refers().Outlives(),
		rest.Op(rest.Delete, one, rbac.GroupDelete, "Delete a group", s.deleteGroup),
		rest.Op(rest.Post, one+"/users", rbac.GroupModify, "Add a user to a group", s.joinGroup).Body(&people.Name).Refers().Created().Outlives(),
		rest.Op(rest.Delete, one+"/users/{user}", rbac.GroupModify, "Remove a user from a group", s.leaveGroup),
		rest.Op(rest.Post, one+"/farms", rbac.GroupModify, "Add a farm to a group", s.addGroupFarm).Body(&people.Name).Refers().Created().Outlives(),
		rest.Op(rest.Delete, one+"/farms/{farm}", rbac.GroupModify, "Remove a farm from a group", s.removeGroupFarm),
	}
}

// GroupItem describes a group.
type GroupItem struct {
	Name      string         `json:"name"`
	Role      string         `json:"role" doc:"Empty for none; its users then have no permissions"`
	Users     []string       `json:"users"`
	AllFarms  string         `json:"all_farms" enum:"true,false" doc:"true if its users have access to all farms, including farms created later"`
	Resources GroupResources `json:"resources"`
}

// GroupResources lists the objects that the users of a group see and change.
type GroupResources struct {
	Farms      []string `json:"farms" doc:"Farms added to the group; with all_farms its users also see all others"`
	Interfaces []string `json:"interfaces" doc:"Virtual interfaces"`
}

// groupItem describes a group. Deleted farms, and farms hidden from the caller, are
// omitted.
func groupItem(c *rest.Call, g rbac.Group) GroupItem {
	out := GroupItem{Name: g.Name, Role: g.Role, Users: append([]string{}, g.Users...), AllFarms: rest.Truth(g.AllFarms), Resources: GroupResources{Farms: []string{}, Interfaces: append([]string{}, g.Interfaces...)}}
	for _, f := range c.Farms() {
		if slices.Contains(g.Farms, f.ID) {
			out.Resources.Farms = append(out.Resources.Farms, f.Name)
		}
	}
	return out
}

func (s *Resource) listGroups(c *rest.Call) (rest.List[GroupItem], error) {
	var out []GroupItem
	for _, g := range s.deps.Users.Groups() {
		out = append(out, groupItem(c, g))
	}
	return rest.NewList(c.Summary(), out), nil
}

func (s *Resource) getGroup(c *rest.Call) (rest.Object[GroupItem], error) {
	return s.answerGroup(c, c.Param("group"), "")
}

// answerGroup responds with the current state of a group.
func (s *Resource) answerGroup(c *rest.Call, name, message string) (rest.Object[GroupItem], error) {
	g, err := s.deps.Users.Group(name)
	if err != nil {
		return rest.Object[GroupItem]{}, rbacRejection(err)
	}
	return rest.Object[GroupItem]{Description: c.Summary(), Params: groupItem(c, g), Message: message}, nil
}

// changedGroup logs a change of a group and responds to it.
func (s *Resource) changedGroup(c *rest.Call, name string, err error, format string, args ...any) (rest.Object[GroupItem], error) {
	if err != nil {
		return rest.Object[GroupItem]{}, rbacRejection(err)
	}
	message := fmt.Sprintf(format, args...)
	s.log(c, "group modified", "group", name, "what", message)
	return s.answerGroup(c, name, message)
}

// sentName reads a body that consists of a name.
func sentName(c *rest.Call) (string, error) {
	values, err := rest.Decode(c, &people.Name)
	return values.Get("name").Text(), err
}

func (s *Resource) createGroup(c *rest.Call) (rest.Object[GroupItem], error) {
	name, err := sentName(c)
	if err != nil {
		return rest.Object[GroupItem]{}, err
	}
	return s.changedGroup(c, name, c.Book(s.deps.Users).AddGroup(name), "The group %s has been created.", name)
}

func (s *Resource) updateGroup(c *rest.Call) (rest.Object[GroupItem], error) {
	name := c.Param("group")
	if _, err := s.deps.Users.Group(name); err != nil {
		return rest.Object[GroupItem]{}, rbacRejection(err)
	}
	values, err := rest.Decode(c, &people.GroupUpdate)
	if err != nil {
		return rest.Object[GroupItem]{}, err
	}
	to := rbac.GroupChange{Role: sentText(values, "role"), AllFarms: sentFlag(values, "all_farms")}
	if to.Role != nil {
		if err := s.grants(c, s.permissionsOf(*to.Role)); err != nil {
			return rest.Object[GroupItem]{}, err
		}
	}
	return s.changedGroup(c, name, c.Book(s.deps.Users).ChangeGroup(name, to), "The group %s has been modified.%s", name, sightNow(to))
}

// sightNow states which farms a changed group sees.
func sightNow(to rbac.GroupChange) string {
	switch {
	case to.AllFarms == nil:
		return ""
	case *to.AllFarms:
		return " Its users see every farm, also farms that are created later."
	}
	return " Its users see only the farms that were added to it."
}

func (s *Resource) deleteGroup(c *rest.Call) (rest.Done, error) {
	name := c.Param("group")
	if err := c.Book(s.deps.Users).RemoveGroup(name); err != nil {
		return rest.Done{}, rbacRejection(err)
	}
	s.log(c, "group deleted", "group", name)
	return rest.NewDone(c.Summary(), fmt.Sprintf("The group %s has been deleted.", name)), nil
}

func (s *Resource) joinGroup(c *rest.Call) (rest.Object[GroupItem], error) {
	user, err := sentName(c)
	if err != nil {
		return rest.Object[GroupItem]{}, err
	}
	group := c.Param("group")
	if err := s.grantsGroup(c, group); err != nil {
		return rest.Object[GroupItem]{}, err
	}
	return s.changedGroup(c, group, c.Book(s.deps.Users).Join(group, user), "The user %s is in the group %s.", user, group)
}

// grantsGroup is grants for a user who joins a group.
func (s *Resource) grantsGroup(c *rest.Call, group string) error {
	g, err := s.deps.Users.Group(group)
	if err != nil {
		return nil // the change is refused
	}
	return s.grants(c, s.permissionsOf(g.Role))
}

func (s *Resource) leaveGroup(c *rest.Call) (rest.Object[GroupItem], error) {
	group, user := c.Param("group"), c.Param("user")
	message := fmt.Sprintf("The user %s is no longer in the group %s.", user, group)
	if u, err := s.deps.Users.User(user); err == nil && !c.SeesAll() {
		message += disarmed(u)
	}
	return s.changedGroup(c, group, c.Book(s.deps.Users).Leave(group, user), "%s", message)
}

// disarmed states which credentials a user loses who leaves a group of a caller that does not
// see all farms. The passwords of other services remain.
func disarmed(u rbac.UserView) string {
	var lost []string
	if u.Service == rbac.Local {
		lost = append(lost, "password")
	}
	if u.Factor != nil {
		lost = append(lost, "second factor")
	}
	if u.HasKey() {
		lost = append(lost, "API key")
	}
	if len(lost) == 0 {
		return ""
	}
	return fmt.Sprintf(" It has lost its %s, because your group does not see all farms. Whoever adds it to another group sets them again.", strings.Join(lost, ", "))
}

func (s *Resource) addGroupFarm(c *rest.Call) (rest.Object[GroupItem], error) {
	name, err := sentName(c)
	if err != nil {
		return rest.Object[GroupItem]{}, err
	}
	f, err := c.Visible(name)
	if err != nil {
		return rest.Object[GroupItem]{}, err
	}
	group := c.Param("group")
	return s.changedGroup(c, group, c.Book(s.deps.Users).AddFarm(group, f.ID), "The farm %s is in the group %s.", name, group)
}

func (s *Resource) removeGroupFarm(c *rest.Call) (rest.Object[GroupItem], error) {
	f, err := c.Farm()
	if err != nil {
		return rest.Object[GroupItem]{}, err
	}
	group := c.Param("group")
	return s.changedGroup(c, group, c.Book(s.deps.Users).RemoveFarm(group, f.ID), "The farm %s is no longer in the group %s.", f.Name, group)
}
