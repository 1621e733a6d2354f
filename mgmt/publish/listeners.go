package publish

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"os"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// listeners is what one publication found out about sockets.
type listeners struct {
	needed map[string]bool // keys the configuration needs
	before map[string]bool // keys the engine held before
	opened map[string][]*os.File
	// problems are the farms whose address could not be opened, missing their
	// addresses.
	problems map[uint32]string
	missing  []netip.AddrPort
}

// listeners opens what cfg needs and the engine does not hold. What cannot be
// opened becomes a problem of its farm.
func (p *Publisher) listeners(ctx context.Context, cfg *farm.Config) *listeners {
	p.mu.Lock()
	loops := p.hello.Loops
	ls := &listeners{needed: map[string]bool{}, before: maps.Clone(p.holds), opened: map[string][]*os.File{}, problems: map[uint32]string{}}
	p.mu.Unlock()
	away := "" // why netd cannot be asked; asking for each farm would add up the waiting
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Stopped {
			continue
		}
		addr := f.AddrPort()
		key := ctl.KeyTCP(addr)
		ls.needed[key] = true
		if ls.before[key] || ls.opened[key] != nil {
			continue
		}
		if away != "" {
			ls.fail(f, away)
			continue
		}
		files, err := p.options.Netd.Open(ctx, addr, loops)
		var refused *ctl.Error
		switch {
		case err == nil:
			ls.opened[key] = files
		case errors.As(err, &refused):
			ls.fail(f, refused.Text)
		default:
			away = "cannot listen on " + addr.String() + ": " + err.Error()
			ls.fail(f, away)
		}
	}
	return ls
}

func (ls *listeners) fail(f *farm.Farm, reason string) {
	ls.problems[f.ID] = reason
	ls.missing = append(ls.missing, f.AddrPort())
}

// close closes this process's copies of the sockets; netd and the engine have
// theirs.
func (ls *listeners) close() {
	for _, files := range ls.opened {
		for _, f := range files {
			_ = f.Close()
		}
	}
}

// address is the inverse of ctl.KeyTCP.
func address(key string) (netip.AddrPort, bool) {
	text, ok := strings.CutPrefix(key, "tcp/")
	if !ok {
		return netip.AddrPort{}, false
	}
	addr, err := netip.ParseAddrPort(text)
	return addr, err == nil
}
