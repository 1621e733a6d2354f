package validate

import (
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/outbound"
)

// unreachable returns the reason why the appliance never connects to a server that the value
// names, nil if there is none.
func (r *rule) unreachable(v Value) error {
	if r.server == nil {
		return nil
	}
	for _, s := range slices.Concat(v.list, []string{v.text}) {
		if err := outbound.Guard(outbound.Reachable).CheckHost(r.server(s)); err != nil {
			return err
		}
	}
	return nil
}

// reachable refuses values with servers that the appliance would never connect to.
func (v Values[T]) reachable() error {
	for i := range v.table.fields {
		r := &v.table.fields[i].rule
		if err := r.unreachable(v.Get(r.name)); err != nil {
			return r.errorf(v.path, "is not possible: %s", err)
		}
	}
	return nil
}

// unreachableWarnings adds a warning about each field with such a server. Documents may have
// them: earlier versions accepted them, and a backup or the file of the start must not be
// refused.
func (t *Table[T]) unreachableWarnings(of *T, add func(field, text string)) {
	for i := range t.fields {
		f := &t.fields[i]
		if f.server == nil {
			continue
		}
		if err := f.unreachable(f.get(of)); err != nil {
			add(f.name, fmt.Sprintf("%s has no effect: %s", f.name, err))
		}
	}
}

// systemWarnings adds warnings about the settings of the machine.
func systemWarnings(cfg *farm.Config, yield func(Error)) {
	for i := range Sections {
		s := &Sections[i]
		s.Table.unreachableWarnings(&cfg.System, func(field, text string) { yield(Error{SectionPath(s.Name), field, text}) })
	}
}
