package publish

import (
	"context"
	"errors"
	"maps"
	"os"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/addr"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// listeners is the state of the sockets during one publication.
type listeners struct {
	needed keySet // keys that the configuration needs
	before keySet // keys that the engine held before
	opened map[string][]*os.File
	// problems has the reason why an address could not be opened, by farm ID; missing has the
	// keys of these addresses.
	problems map[uint32]string
	missing  []string
	// absent has the farms whose only problem is an address that this machine does not have
	// now.
	absent map[uint32]bool
}

// listeners opens the sockets that cfg needs and the engine lacks. A failure becomes a problem
// of the farm.
func (p *Publisher) listeners(ctx context.Context, cfg *farm.Config, all []needs) *listeners {
	ls := &listeners{opened: map[string][]*os.File{}, problems: map[uint32]string{}, absent: map[uint32]bool{}}
	ls.needed = p.needed.of(keysOf(all))
	p.mu.Lock()
	loops := p.hello.Loops
	ls.before = p.holds
	p.mu.Unlock()
	if ls.needed.version == p.tidied.needed && ls.before.version == p.tidied.held {
		return ls // the engine holds all of them
	}
	regained := false
	away := "" // why netd is unreachable; a query for each farm would add up the timeouts
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		for k, l := range all[i].listeners {
			key := all[i].keys[k]
			if ls.before.has[key] || ls.opened[key] != nil {
				continue
			}
			if away != "" {
				ls.fail(f, l, away)
				continue
			}
			if !regained { // netd does not open an address while it does not know that the existing sockets are ours
				p.regain(ctx)
				regained = true
			}
			files, err := p.open(ctx, key, loops)
			var refused *ctl.Error
			switch {
			case err == nil:
				ls.opened[key] = files
				p.copy(key, files)
			case errors.As(err, &refused):
				ls.absent[f.ID] = refused.Code == ctl.CodeNotLocal && (ls.problems[f.ID] == "" || ls.absent[f.ID])
				ls.fail(f, l, refused.Text)
			default:
				away = "cannot listen on " + l.Addr.String() + ": " + err.Error()
				ls.fail(f, l, away)
			}
		}
	}
	return ls
}

// addPlaces adds the GeoIP table unless the engine has it.
func (p *Publisher) addPlaces(ls *listeners) {
	if p.options.Places == nil || ls.before.has[p.options.Places.Key()] {
		return
	}
	key, file, err := p.options.Places.Memory()
	if err != nil {
		p.options.Log.Warn("the engine does not get the GeoIP database; the next change tries again", "error", err)
		return
	}
	ls.opened[key] = []*os.File{file}
}

// fail records an address that could not be opened. The farm's problem is the first reason.
func (ls *listeners) fail(f *farm.Farm, l farm.Listener, reason string) {
	if ls.problems[f.ID] == "" {
		ls.problems[f.ID] = reason
	}
	ls.missing = append(ls.missing, l.Key())
}

// close closes this process's copies of the sockets; netd and the engine keep theirs.
func (ls *listeners) close() {
	for _, files := range ls.opened {
		for _, f := range files {
			_ = f.Close()
		}
	}
}

// addKernel adds the problems of kernel farms and records those that lack only their address.
// These are recognised by the text of addr.Find, which netd reports (sysnet/host).
func (ls *listeners) addKernel(cfg *farm.Config, problems map[uint32]string) {
	if len(problems) == 0 {
		return
	}
	maps.Copy(ls.problems, problems)
	locals, err := addr.List()
	if err != nil {
		return // treat them like other problems
	}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if problem := problems[f.ID]; problem != "" {
			_, err := addr.Find(locals, f.VIP.Unmap())
			ls.absent[f.ID] = errors.Is(err, addr.ErrNotLocal) && err.Error() == problem
		}
	}
}
