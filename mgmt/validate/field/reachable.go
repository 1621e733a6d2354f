package field

import (
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/mgmt/outbound"
)

// unreachable returns the reason why the appliance never connects to a server that the value
// names, nil if there is none.
func (r *Rule) unreachable(v Value) error {
	if r.Server == nil {
		return nil
	}
	for _, s := range slices.Concat(v.list, []string{v.text}) {
		if err := outbound.Guard(outbound.Reachable).CheckHost(r.Server(s)); err != nil {
			return err
		}
	}
	return nil
}

// reachable refuses values with servers that the appliance would never connect to.
func (v Values[T]) reachable() error {
	for i := range v.table.Fields {
		r := &v.table.Fields[i].Rule
		if err := r.unreachable(v.Get(r.Name)); err != nil {
			return r.errorf(v.path, "is not possible: %s", err)
		}
	}
	return nil
}

// UnreachableWarnings adds a warning about each field with such a server. Documents may have
// them: earlier versions accepted them, and a backup or the file of the start must not be
// refused.
func (t *Table[T]) UnreachableWarnings(of *T, add func(field, text string)) {
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Server == nil {
			continue
		}
		if err := f.unreachable(f.Get(of)); err != nil {
			add(f.Name, fmt.Sprintf("%s has no effect: %s", f.Name, err))
		}
	}
}
