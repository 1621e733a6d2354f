package forward

import (
	"bytes"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// names are the server names with their own backends. Clients with one of these names get
// only its backends; all others get the backends without a name.
type names struct {
	exact map[string]*group
	below map[string]*group // "*.example.com" as ".example.com"
}

// find returns the group of a lower-case name, or nil. An exact name takes precedence over
// wildcards, and a longer wildcard over a shorter one.
func (n *names) find(name []byte) *group {
	if g := n.exact[string(name)]; g != nil || len(n.below) == 0 {
		return g
	}
	for rest := name; ; rest = rest[1:] {
		at := bytes.IndexByte(rest, '.')
		if at < 0 {
			return nil
		}
		rest = rest[at:]
		if g := n.below[string(rest)]; g != nil {
			return g
		}
	}
}

// compileNames compiles the groups of a farm: one for the backends without names, and one
// for each name.
func (e *Engine) compileNames(ft *farmTable, l *farm.L4) {
	var order []string
	members := map[string][]int{}
	var others []int
	for i := range l.Backends {
		if len(l.Backends[i].ServerNames) == 0 {
			others = append(others, i)
		}
		for _, name := range l.Backends[i].ServerNames {
			name = strings.ToLower(name)
			if members[name] == nil {
				order = append(order, name)
			}
			members[name] = append(members[name], i)
		}
	}
	ft.group = e.compileGroup(l, "", others)
	if len(order) == 0 {
		return
	}
	ft.names = &names{exact: map[string]*group{}, below: map[string]*group{}}
	for _, name := range order {
		g := e.compileGroup(l, name, members[name])
		if rest, ok := strings.CutPrefix(name, "*"); ok {
			ft.names.below[rest] = &g
		} else {
			ft.names.exact[name] = &g
		}
	}
}
