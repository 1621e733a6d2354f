package firewall

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/sysnet/claim"
	kernel "github.com/sluicelb/sluice/sysnet/nft"
)

// A firewall that is reloaded loses our rules and may drop packets that it accepted before.
// The generation of nf_tables reveals changes at the cost of one query to the kernel. Tables of
// iptables-legacy have no such number. They are listed, which takes some milliseconds.

// legacyShare bounds the time of listing tables of iptables-legacy: the next list waits for
// legacyShare times the duration of the last one.
const legacyShare = 50

// fingerprint identifies the rules of foreign firewalls.
type fingerprint struct {
	generation uint32            // of all tables of nf_tables
	shape      uint64            // of the foreign ones
	legacy     map[string]string // rules of iptables-legacy, by table
	listed     time.Time         // when these were listed
	pause      time.Duration     // until they are listed again
}

// Changed reports whether rules of foreign firewalls, or ours in their tables, changed since
// the last call. After a change by Keep it returns true once. It may be called often.
func (f *Firewall) Changed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	native := f.seen.nativeChanged()
	return f.seen.legacyChanged() || native
}

// nativeChanged compares the tables of nf_tables. Those of Sluice change often, but are not
// foreign.
func (p *fingerprint) nativeChanged() bool {
	generation, err := kernel.Generation()
	if err != nil || generation == p.generation {
		return false // without nf_tables there is nothing to compare
	}
	shape, err := kernel.Shape(claim.IsTable)
	if err != nil {
		return false // e.g. ErrChanging; compared again next time
	}
	changed := shape != p.shape
	p.generation, p.shape = generation, shape
	return changed
}

// legacyChanged compares the tables of iptables-legacy. It does not wait while another program
// changes them. A table that cannot be listed counts as unchanged.
func (p *fingerprint) legacyChanged() bool {
	if time.Since(p.listed) < p.pause {
		return false
	}
	begin, now := time.Now(), map[string]string{}
	for _, v6 := range []bool{false, true} {
		if !legacy(v6) {
			continue
		}
		if locked() {
			return false // compared next time
		}
		t, err := open("legacy", v6)
		if err != nil {
			continue // Keep reports it
		}
		lines, err := t.saved(1)
		if err == nil {
			now[t.name] = strings.Join(lines, "\n")
		} else if before, known := p.legacy[t.name]; known {
			now[t.name] = before
		}
	}
	changed := !maps.Equal(now, p.legacy)
	p.legacy, p.listed = now, time.Now()
	p.pause = legacyShare * p.listed.Sub(begin)
	return changed
}

// locked reports whether a program holds the lock of iptables-legacy, which listing needs, too.
func locked() bool {
	f, err := os.Open(cmp.Or(os.Getenv("XTABLES_LOCKFILE"), "/run/xtables.lock"))
	if err != nil {
		return false // no program has needed it yet
	}
	defer f.Close()
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
