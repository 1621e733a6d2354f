package farms

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
)

// ruleOperations returns the operations of all rule lists of farms and services.
func (s *Resource) ruleOperations() []*rest.Operation {
	return slices.Concat(
		listOperations(s, &httpfarm.AddRequest, showAdd), listOperations(s, &httpfarm.RemoveRequest, showRemove),
		listOperations(s, &httpfarm.ReplaceRequest, showReplace), listOperations(s, &httpfarm.AddResponse, showAdd),
		listOperations(s, &httpfarm.RemoveResponse, showRemove), listOperations(s, &httpfarm.ReplaceResponse, showReplace),
		listOperations(s, &httpfarm.Rewrites, showRewrite))
}

// ruleList serves one rule list of farms or of services.
type ruleList[T comparable, V any] struct {
	s      *Resource
	name   string
	kind   *httpfarm.RuleList[T]
	change field.Table[T]
	show   func(int, T) V
	// of finds the list of the farm or service in the path.
	of func(c *rest.Call, cfg *farm.Config) (list *[]T, owner string, err error)
}

func listOperations[T comparable, V any](s *Resource, kind *httpfarm.RuleList[T], show func(int, T) V) []*rest.Operation {
	l := ruleList[T, V]{s: s, name: kind.Service, kind: kind, change: kind.Rule.Optional(), show: show}
	l.of = func(c *rest.Call, cfg *farm.Config) (*[]T, string, error) {
		g, err := rest.FindServiceGroup(cfg, c.Param("farm"), c.Param("service"))
		switch {
		case err != nil:
			return nil, "", err
		case g.Service == nil:
			return nil, "", rest.BadRequest("the %s has no header and URL rules", g)
		}
		return kind.OfService(g.Service), g.String(), nil
	}
	out := l.operations("/farms/{farm}/services/{service}/"+kind.Service, "of a service")
	if kind.Farm == "" {
		return out
	}
	atFarm := l
	atFarm.name = kind.Farm
	atFarm.of = func(c *rest.Call, cfg *farm.Config) (*[]T, string, error) {
		f, err := rest.FindFarm(cfg, c.Param("farm"))
		if err != nil {
			return nil, "", err
		}
		list := kind.OfFarm(f)
		if list == nil {
			return nil, "", rest.BadRequest("the farm %s has no header rules", f.Name)
		}
		return list, "farm " + f.Name, nil
	}
	return append(atFarm.operations("/farms/{farm}/"+kind.Farm, "of a farm"), out...)
}

func (l ruleList[T, V]) operations(path, whose string) []*rest.Operation {
	what := l.name + " rule " + whose
	out := []*rest.Operation{
		rest.Op(rest.Get, path, rbac.Open, "List the "+l.name+" rules "+whose, l.list),
		rest.Op(rest.Post, path, rbac.FarmModify, "Add a "+what, l.add).Body(&l.kind.Rule).Created().Edits(),
		rest.Op(rest.Put, path+"/{rule}", rbac.FarmModify, "Modify a "+what, l.modify).Body(&l.change).Edits(),
		rest.Op(rest.Delete, path+"/{rule}", rbac.FarmModify, "Delete a "+what, l.remove).Edits(),
	}
	if l.kind.Moves {
		out = append(out, rest.Op(rest.Post, path+"/{rule}/actions", rbac.FarmModify, "Move a "+what, l.move).Body(&httpfarm.RuleMove).Edits())
	}
	return out
}

func (l ruleList[T, V]) list(c *rest.Call) (rest.List[V], error) {
	rules, owner, err := l.of(c, c.Config)
	if err != nil {
		return rest.List[V]{}, err
	}
	return rest.NewList(fmt.Sprintf("List the %s rules of %s", l.name, owner), shownRules(*rules, l.show)), nil
}

func (l ruleList[T, V]) add(c *rest.Call) (rest.Object[V], error) {
	_, owner, err := l.of(c, c.Config)
	if err != nil {
		return rest.Object[V]{}, err
	}
	values, err := rest.Decode(c, &l.kind.Rule)
	if err != nil {
		return rest.Object[V]{}, err
	}
	_, err = c.Change(fmt.Sprintf("add a rule to %s of %s", l.name, owner), func(cfg *farm.Config) error {
		rules, _, err := l.of(c, cfg)
		if err != nil {
			return err
		}
		var created T
		if err := values.Apply(&created); err != nil {
			return err
		}
		*rules = append(*rules, created)
		return nil
	})
	if err != nil {
		return rest.Object[V]{}, err
	}
	rules, _, err := l.of(c, c.Config)
	if err != nil || len(*rules) == 0 {
		return rest.Object[V]{}, err
	}
	last := len(*rules) - 1 // the configuration that this change produced
	return l.done(c, fmt.Sprintf("New rule in %s of %s", l.name, owner), l.show(last, (*rules)[last]),
		fmt.Sprintf("The rule %d has been added to %s of %s.", last, l.name, owner)), nil
}

func (l ruleList[T, V]) done(c *rest.Call, description string, params V, message string) rest.Object[V] {
	return rest.Object[V]{Description: description, Params: params, Message: message, Status: l.s.deps.State.StatusOf(c, c.Param("farm"))}
}

// ruleAt is the rule in the path when the request was read. A change must find the same rule
// at that position.
type ruleAt[T comparable] struct {
	position int
	rule     T
	owner    string
}

func (l ruleList[T, V]) at(c *rest.Call) (ruleAt[T], error) {
	rules, owner, err := l.of(c, c.Config)
	if err != nil {
		return ruleAt[T]{}, err
	}
	id := c.Param("rule")
	n, err := strconv.Atoi(id)
	if err != nil || n < 0 || n >= len(*rules) || strconv.Itoa(n) != id {
		return ruleAt[T]{}, rest.NotFound("the rule %s does not exist in %s of %s", rest.Quote(id), l.name, owner)
	}
	return ruleAt[T]{n, (*rules)[n], owner}, nil
}

// edit changes the list at the rule in the path.
func (l ruleList[T, V]) edit(c *rest.Call, at ruleAt[T], verb string, edit func(rules *[]T) error) error {
	_, err := c.Change(fmt.Sprintf("%s rule %d of %s of %s", verb, at.position, l.name, at.owner), func(cfg *farm.Config) error {
		rules, _, err := l.of(c, cfg)
		if err != nil {
			return err
		}
		if at.position >= len(*rules) || (*rules)[at.position] != at.rule {
			return rest.Refuse(http.StatusConflict, "the rules in %s of %s were changed by someone else: read them again", l.name, at.owner)
		}
		return edit(rules)
	})
	return err
}

func (l ruleList[T, V]) modify(c *rest.Call) (rest.Changed, error) {
	at, err := l.at(c)
	if err != nil {
		return rest.Changed{}, err
	}
	values, err := rest.Decode(c, &l.change)
	if err != nil {
		return rest.Changed{}, err
	}
	err = l.edit(c, at, "modify", func(rules *[]T) error { return values.Apply(&(*rules)[at.position]) })
	if err != nil {
		return rest.Changed{}, err
	}
	return rest.Changed{
		Description: fmt.Sprintf("Modify rule %d in %s of %s", at.position, l.name, at.owner), Params: values.Sent(),
		Message: fmt.Sprintf("The rule %d in %s of %s has been changed.", at.position, l.name, at.owner),
		Status:  l.s.deps.State.StatusOf(c, c.Param("farm")),
	}, nil
}

func (l ruleList[T, V]) remove(c *rest.Call) (rest.Done, error) {
	at, err := l.at(c)
	if err != nil {
		return rest.Done{}, err
	}
	err = l.edit(c, at, "delete", func(rules *[]T) error {
		*rules = slices.Delete(*rules, at.position, at.position+1)
		return nil
	})
	if err != nil {
		return rest.Done{}, err
	}
	return rest.NewDone(fmt.Sprintf("Delete rule %d in %s of %s", at.position, l.name, at.owner),
		fmt.Sprintf("The rule %d in %s of %s has been deleted.", at.position, l.name, at.owner)), nil
}

func (l ruleList[T, V]) move(c *rest.Call) (rest.Object[Moved], error) {
	at, err := l.at(c)
	if err != nil {
		return rest.Object[Moved]{}, err
	}
	values, err := rest.Decode(c, &httpfarm.RuleMove)
	if err != nil {
		return rest.Object[Moved]{}, err
	}
	to := values.Get("position").Number()
	err = l.edit(c, at, "move", func(rules *[]T) error {
		if to >= int64(len(*rules)) {
			return rest.BadRequest("position: %d is not allowed, allowed are 0 to %d", to, len(*rules)-1)
		}
		rest := slices.Delete(*rules, at.position, at.position+1)
		*rules = slices.Insert(rest, int(to), at.rule)
		return nil
	})
	if err != nil {
		return rest.Object[Moved]{}, err
	}
	return rest.Object[Moved]{
		Description: fmt.Sprintf("Move rule %d in %s of %s", at.position, l.name, at.owner), Params: Moved{Position: int(to)},
		Message: fmt.Sprintf("The rule %d in %s of %s has been moved to position %d.", at.position, l.name, at.owner, to),
		Status:  l.s.deps.State.StatusOf(c, c.Param("farm")),
	}, nil
}

// decodeBeside decodes an object that GET returns together with its rule lists. Clients
// send whole objects back, so an empty list is ignored if the actual one is empty too.
// Other lists are rejected, because they have operations of their own. foreign can reject a
// field before the table does.
func decodeBeside[T any](c *rest.Call, table *field.Table[T], lists map[string]int, foreign func(name string) error) (field.Values[T], error) {
	body, err := c.ReadObject()
	if err != nil {
		return field.Values[T]{}, err
	}
	if len(body) == 0 {
		return field.Values[T]{}, rest.Help(table)
	}
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		value, sent := body[name]
		if !sent {
			continue
		}
		if list, is := value.([]any); !is || len(list) > 0 || lists[name] > 0 {
			return field.Values[T]{}, rest.BadRequest("%s: its items are changed one by one, with POST to %s/%s, and PUT and DELETE to its ids", name, c.Request.URL.Path, name)
		}
		delete(body, name)
	}
	for _, name := range slices.Sorted(maps.Keys(body)) {
		if err := foreign(name); err != nil {
			return field.Values[T]{}, err
		}
	}
	return table.Decode("", body)
}
