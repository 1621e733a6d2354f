package system

import (
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

// aliases is the resource of one list of aliases.
type aliases struct{ *system.AliasKind }

func aliasOperations() (out []*rest.Operation) {
	for _, kind := range system.AliasKinds() {
		a, all := aliases{kind}, "/aliases/"+kind.Name+"s"
		one := all + "/{" + kind.Form + "}"
		out = append(out,
			rest.Op(rest.Get, all, rbac.AliasList, "List the aliases of "+kind.Name+"s", a.all),
			rest.Op(rest.Post, all, rbac.AliasModify, "Create an alias of "+kind.Name+"s", a.create).Body(&kind.Create).Created().Edits(),
			rest.Op(rest.Put, one, rbac.AliasModify, "Set an alias of "+kind.Name+"s", a.put).Body(&kind.Update).Edits(),
			rest.Op(rest.Delete, one, rbac.AliasDelete, "Delete an alias of "+kind.Name+"s", a.remove).Edits())
	}
	return out
}

// AliasView is the alias of an address or interface.
type AliasView struct {
	ID    string `json:"id" doc:"Address or interface name"`
	Alias string `json:"alias"`
}

func (a aliases) all(c *rest.Call) (rest.List[AliasView], error) {
	list := *a.List(&c.Config.System.Aliases)
	if a.AliasKind == system.BackendAliases && !c.SeesAll() {
		list = ofFarms(list, c.Farms())
	}
	return rest.ListOf(c.Summary(), len(list), func(i int) AliasView { return AliasView(list[i]) }), nil
}

// ofFarms returns the aliases of addresses of backends of farms: others name backends of
// farms that the caller does not see.
func ofFarms(list []farm.Alias, farms []farm.Farm) (out []farm.Alias) {
	seen := map[string]bool{}
	for i := range farms {
		for _, g := range farms[i].Groups() {
			for _, b := range g.Backends() {
				seen[b.Addr.String()] = true
			}
		}
	}
	for _, alias := range list {
		if seen[alias.ID] {
			out = append(out, alias)
		}
	}
	return out
}

func (a aliases) create(c *rest.Call) (rest.Object[AliasView], error) {
	values, err := rest.Decode(c, &a.Create)
	if err != nil {
		return rest.Object[AliasView]{}, err
	}
	id := values.Get("id").Text()
	return a.set(c, id, values.Get("alias").Text(), func(list []farm.Alias) error {
		if was := farm.AliasOf(list, id); was != "" {
			return rest.BadRequest("id: %s has the alias %s already; change it, or delete it first", id, was)
		}
		return nil
	})
}

// put creates an alias if there is none.
func (a aliases) put(c *rest.Call) (rest.Object[AliasView], error) {
	id, err := a.ID(c.Param(a.Form))
	if err != nil {
		return rest.Object[AliasView]{}, err
	}
	values, err := rest.Decode(c, &a.Update)
	if err != nil {
		return rest.Object[AliasView]{}, err
	}
	return a.set(c, id, values.Get("alias").Text(), func([]farm.Alias) error { return nil })
}

func (a aliases) set(c *rest.Call, id, alias string, check func([]farm.Alias) error) (rest.Object[AliasView], error) {
	_, err := c.Change(fmt.Sprintf("set the alias of %s %s", a.Name, id), func(cfg *farm.Config) error {
		list := a.List(&cfg.System.Aliases)
		if err := check(*list); err != nil {
			return err
		}
		if at := farm.AliasAt(*list, id); at >= 0 {
			(*list)[at].Alias = alias
			return nil
		}
		*list = append(*list, farm.Alias{ID: id, Alias: alias})
		return nil
	})
	if err != nil {
		return rest.Object[AliasView]{}, err
	}
	return rest.Object[AliasView]{Description: c.Summary(), Params: AliasView{id, alias}, Message: fmt.Sprintf("The alias of %s is %s.", id, alias)}, nil
}

func (a aliases) remove(c *rest.Call) (rest.Done, error) {
	id, err := a.ID(c.Param(a.Form))
	if err != nil {
		return rest.Done{}, err
	}
	_, err = c.Change(fmt.Sprintf("delete the alias of %s %s", a.Name, id), func(cfg *farm.Config) error {
		list := a.List(&cfg.System.Aliases)
		at := farm.AliasAt(*list, id)
		if at < 0 {
			return rest.NotFound("the %s %s has no alias", a.Name, rest.Quote(id))
		}
		*list = slices.Delete(*list, at, at+1)
		return nil
	})
	if err != nil {
		return rest.Done{}, err
	}
	return rest.NewDone(c.Summary(), fmt.Sprintf("The alias of %s has been deleted.", id)), nil
}
