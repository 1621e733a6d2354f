package scripts

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/hook"
)

// prefix begins the name of every script; other programs in the folder get no events.
// anyEvent replaces the event in the name of a script for all events.
const (
	prefix   = "on-"
	anyEvent = "any"
)

// hears returns the event in the name of a script. script is false for other files.
func hears(name string) (event string, script bool) {
	rest, script := strings.CutPrefix(name, prefix)
	event, _, _ = strings.Cut(rest, ".")
	return event, script
}

func known(name string) bool {
	return name == anyEvent || slices.Contains(event.Kinds(), event.Kind(name))
}

// hearing returns the executable scripts for an event, sorted by name.
func (r *Runner) hearing(kind event.Kind) []string {
	var out []string
	crowded := false
	files := r.files()
	for _, name := range files {
		event, _ := hears(name)
		if event != anyEvent && event != string(kind) {
			continue
		}
		problem := ""
		if err := (hook.Program{Folder: r.options.Folder, Name: name}).Check(); err != nil {
			problem = err.Error()
		}
		r.noted(name, problem)
		if problem != "" {
			continue
		}
		if len(out) == MaxScripts {
			crowded = true
			break
		}
		out = append(out, name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(files)
	if crowded && !r.crowded {
		r.options.Log.Warn("some scripts are not called: at most so many hear of one event", "most", MaxScripts, "event", string(kind))
	}
	r.crowded = crowded
	return out
}

// forget deletes the state of scripts that no longer exist.
func (r *Runner) forget(files []string) {
	there := func(name string) bool { return slices.Contains(files, name) || name == hook.Folder }
	maps.DeleteFunc(r.scripts, func(name string, s *script) bool { return !s.busy && !there(name) })
	maps.DeleteFunc(r.problems, func(name, _ string) bool { return !there(name) })
}

// noted logs once why a script is not called.
func (r *Runner) noted(name, problem string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if problem != "" && r.problems[name] != problem {
		r.options.Log.Warn("script is not called", "script", hook.Shown(name), "reason", problem)
	}
	if r.problems[name] = problem; problem == "" {
		delete(r.problems, name)
	}
}

// maxFiles bounds the files of the folder that are read.
const maxFiles = 256

// files returns the names of all scripts in the folder, sorted, including ones that
// cannot run.
func (r *Runner) files() []string {
	folder, err := os.Open(r.options.Folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		r.noted(hook.Folder, "the folder cannot be read")
		return nil
	}
	defer folder.Close()
	names, err := folder.Readdirnames(maxFiles)
	if err != nil && !errors.Is(err, io.EOF) {
		r.noted(hook.Folder, "the folder cannot be read")
	}
	names = slices.DeleteFunc(names, func(name string) bool { _, script := hears(name); return !script })
	slices.Sort(names)
	return names
}

// Run is one call of a script.
type Run struct {
	Event event.Kind
	At    time.Time
	Took  time.Duration
	// Failure is the reason of a failure, or "".
	Failure string
	// Output is the beginning of its output.
	Output string
}

// View is the visible state of a script.
type View struct {
	Name string
	// Event is its event, or "any".
	Event string
	// Problem is the reason why it is not called, or "".
	Problem string
	Running bool
	// Waiting is the number of queued events, Lost that of events dropped because the
	// queue was full.
	Waiting, Lost, Calls, Failed int
	// Runs are the latest runs, newest first.
	Runs []Run
}

// List returns the scripts of the folder by name, and the number of events that no script
// got because too many arrived at once.
func (r *Runner) List() (list []View, lost int) {
	for _, name := range r.files() {
		event, _ := hears(name)
		v := View{Name: name, Event: event}
		if err := (hook.Program{Folder: r.options.Folder, Name: name}).Check(); err != nil {
			v.Problem = err.Error()
		} else if !known(event) {
			v.Problem = fmt.Sprintf("%q is no event: a script is called on-EVENT, or on-EVENT.WORD; events are %s, and any for all", event, words())
		}
		r.mu.Lock()
		if s := r.scripts[name]; s != nil {
			v.Running, v.Waiting, v.Lost, v.Calls, v.Failed, v.Runs = s.busy, len(s.waiting), s.lost, s.calls, s.failed, slices.Clone(s.runs)
		}
		r.mu.Unlock()
		list = append(list, v)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return list, r.lost
}

func words() string {
	var out []string
	for _, k := range event.Kinds() {
		out = append(out, string(k))
	}
	return strings.Join(out, ", ")
}
