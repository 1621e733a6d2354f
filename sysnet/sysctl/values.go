package sysctl

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
)

// Values are the sysctls that were set, with their previous values. Use Open to make one.
// It is safe for concurrent use.
type Values struct {
	mu      sync.Mutex
	journal *journal
	held    []held // in the order of setting
}

// held is one sysctl that was set.
type held struct {
	Name string `json:"name"`
	Old  string `json:"old"`
	Set  string `json:"set"`
	// Carried holds the previous values of names that the kernel changed as a side
	// effect.
	Carried map[string]string `json:"carried,omitempty"`
}

// State is one sysctl that was set, for display.
type State struct {
	Name string `json:"name"` // "net/ipv4/ip_forward"
	Old  string `json:"old"`
	Set  string `json:"set"`
	// Now is the current value. If it differs from Set, another program wrote it.
	Now string `json:"now"`
}

// Open reads the journal, a regular file or memfd that may be empty. The caller closes it
// after the last use of Values. Without a journal (nil), previous values are lost with
// the process. Open neither sets nor restores anything.
func Open(file *os.File) (*Values, error) {
	vs := &Values{}
	if file == nil {
		return vs, nil
	}
	j, held, err := openJournal(file)
	if err != nil {
		return nil, err
	}
	vs.journal, vs.held = j, held
	return vs, nil
}

// Keep sets the values of want and restores all others that were set before. It continues
// after errors; the returned error lists all of them.
func (vs *Values) Keep(want []Setting) error {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	var problems []error
	wanted := map[string]bool{}
	for _, s := range want {
		if wanted[s.Name] || s.When != nil && !s.When(vs.was) {
			continue
		}
		wanted[s.Name] = true
		if err := vs.set(s); err != nil {
			problems = append(problems, err)
		}
	}
	for _, h := range slices.Backward(slices.Clone(vs.held)) {
		if wanted[h.Name] {
			continue
		}
		if err := vs.giveBack(h); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// List returns all sysctls that are set, sorted by name.
func (vs *Values) List() []State {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	all := make([]State, 0, len(vs.held))
	for _, h := range vs.held {
		now, _ := read(h.Name)
		all = append(all, State{Name: "net/" + h.Name, Old: h.Old, Set: h.Set, Now: now})
	}
	slices.SortFunc(all, func(a, b State) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// was returns the value of a name before anything was set.
func (vs *Values) was(name string) string {
	for _, h := range vs.held {
		if h.Name == name {
			return h.Old
		}
		if old, ok := h.Carried[name]; ok {
			return old
		}
	}
	v, _ := read(name)
	return v
}

func (vs *Values) set(s Setting) error {
	if err := check(s.Name, s.Value); err != nil {
		return err
	}
	now, err := read(s.Name)
	if errors.Is(err, fs.ErrNotExist) && s.Optional {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sysctl net/%s: %w", s.Name, err)
	}
	at := slices.IndexFunc(vs.held, func(h held) bool { return h.Name == s.Name })
	if now == s.Value && (at < 0 || vs.held[at].Set == s.Value) {
		return nil // has the value already, from Sluice or from another program
	}
	next := slices.Clone(vs.held)
	if at < 0 {
		h := held{Name: s.Name, Old: now, Set: s.Value, Carried: map[string]string{}}
		for _, name := range carried(s.Name) {
			if v, err := read(name); err == nil {
				h.Carried[name] = v
			}
		}
		next = append(next, h)
	} else {
		next[at].Set = s.Value
	}
	// The journal is written first. After a crash in between, restoring a value that
	// never changed is harmless.
	if err := vs.remember(next); err != nil {
		return fmt.Errorf("sysctl net/%s is not set: %w", s.Name, err)
	}
	if err := write(s.Name, s.Value); err != nil {
		return fmt.Errorf("sysctl net/%s: %w", s.Name, err)
	}
	return nil
}

// giveBack restores the previous values if the sysctl still has the value that was set.
func (vs *Values) giveBack(h held) error {
	now, err := read(h.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist): // removed with its interface or module
	case err != nil:
		return fmt.Errorf("sysctl net/%s: %w", h.Name, err)
	case now == h.Set && h.Old != h.Set:
		if err := write(h.Name, h.Old); err != nil {
			return fmt.Errorf("sysctl net/%s keeps the value %s: %w", h.Name, now, err)
		}
		for _, name := range slices.Sorted(maps.Keys(h.Carried)) {
			if v, err := read(name); err == nil && v != h.Carried[name] {
				if err := write(name, h.Carried[name]); err != nil {
					return fmt.Errorf("sysctl net/%s keeps the value %s: %w", name, v, err)
				}
			}
		}
	}
	return vs.remember(slices.DeleteFunc(slices.Clone(vs.held), func(o held) bool { return o.Name == h.Name }))
}

func (vs *Values) remember(next []held) error {
	if vs.journal != nil {
		if err := vs.journal.write(next); err != nil {
			return err
		}
	}
	vs.held = next
	return nil
}
