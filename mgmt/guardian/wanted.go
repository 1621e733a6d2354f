package guardian

import (
	"cmp"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/validate/check"
)

// wantedTask is a task that a configuration needs.
type wantedTask struct {
	settings farm.Check
	users    []user
	ours     []*farm.Farm // see task
}

// wanted holds the tasks that a configuration needs.
type wanted struct {
	tasks map[key]*wantedTask
	// unasked are the backends without a task. The value is the reason for those that have a
	// linked check, else "".
	unasked map[uint32]string
	// idle are the unasked backends with a check, which have no clients.
	idle map[uint32]bool
	at   map[netip.Addr][]*farm.Farm // farms that backends may follow, by VIP; nil until needed
}

// wantedBy returns the tasks of some farms of a configuration. Backends without clients have
// no task: backends in maintenance, of stopped farms, or without an address. A backend with
// the address of a farm follows that farm if known.
func wantedBy(cfg *farm.Config, farms []farm.Farm, known bool) wanted {
	out := wanted{tasks: map[key]*wantedTask{}, unasked: map[uint32]string{}, idle: map[uint32]bool{}}
	for i := range farms {
		for _, g := range farms[i].Groups() {
			builtIn, at := g.BuiltIn()
			name := cmp.Or(g.CheckedBy(), builtIn)
			c, is := check.Named(cfg, name)
			idle := name == "" || g.Farm.Stopped || g.Redirects()
			list := g.Backends()
			for k := range list {
				b := &list[k]
				switch {
				case idle || !asked(b):
					out.unasked[b.ID], out.idle[b.ID] = "", name != ""
				case known && out.follow(cfg, g, b, at):
				case !is:
					out.unasked[b.ID] = "cannot be asked: there is no check " + name
				case c.Command == "":
					out.unasked[b.ID] = "cannot be asked: check " + name + " has no command"
				case !port(g, b, c.Command):
					out.unasked[b.ID] = "cannot be asked: check " + name + " needs a port, and the farm has every port: write one in the command instead of PORT"
				default:
					out.add(cfg, g, b, c)
				}
			}
		}
	}
	return out
}

// asked reports whether a backend can be probed.
func asked(b *farm.Backend) bool {
	return b.Maintenance == farm.MaintenanceOff && b.Addr.IsValid() && !b.Left && !b.Spreads()
}

// port reports whether the port to probe is known, or no port is needed.
func port(g farm.Group, b *farm.Backend, command string) bool {
	return targetPort(g, b) != 0 || !NeedsPort(command)
}

// NeedsPort reports whether a command uses the port of the backend.
func NeedsPort(command string) bool {
	text := probe.Text(command)
	return text.For(probe.Target{Port: 1}) != text.For(probe.Target{Port: 2})
}

// targetPort returns the port of a backend, or of the built-in check. If the backend has
// the port of the client's connection, it is the first virtual port. It is 0 if that may be
// any port.
func targetPort(g farm.Group, b *farm.Backend) uint16 {
	if b.Port != 0 {
		return b.Port
	}
	if _, port := g.BuiltIn(); port != 0 {
		return port
	}
	ports := g.Farm.VPorts()
	if len(ports) == 1 && ports[0].First == 1 && ports[0].Last == 65535 {
		return 0
	}
	return ports[0].First
}

func (w *wanted) add(cfg *farm.Config, g farm.Group, b *farm.Backend, c farm.Check) {
	w.use(key{check: c.Name, command: c.Command, to: target(cfg, g, b, &c), from: route(g.Farm, b)}, g, b).settings = c
}

// use adds a backend to a task, and makes the task if there is none.
func (w *wanted) use(k key, g farm.Group, b *farm.Backend) *wantedTask {
	t := w.tasks[k]
	if t == nil {
		t = &wantedTask{}
		w.tasks[k] = t
	}
	t.users = append(t.users, user{b.ID, g.Farm.Name, g.Name()})
	return t
}

func target(cfg *farm.Config, g farm.Group, b *farm.Backend, c *farm.Check) probe.Target {
	to := probe.Target{Addr: b.Addr, Port: targetPort(g, b)}
	if b.Named() && b.Of == 0 {
		to.Name = b.Host
	}
	if alias := cfg.System.Aliases.Called(b); c.BackendAlias && alias != "" {
		to.Name = alias
	}
	return to
}

// route returns the part of the clients' way to the backend that the appliance determines.
func route(f *farm.Farm, b *farm.Backend) (r Route) {
	r.Mark = b.Mark
	if r.Mark == 0 {
		r.Mark = f.DefaultMark()
	}
	r.Source = b.Source
	if !r.Source.IsValid() {
		r.Source = f.DefaultSource()
	}
	if r.Source.Is4() != b.Addr.Is4() {
		r.Source = netip.Addr{}
	}
	return r
}

// addressOf returns a target in the format of logs.
func addressOf(to probe.Target) string {
	if to.Port == 0 {
		return to.Addr.String()
	}
	return netip.AddrPortFrom(to.Addr, to.Port).String()
}
