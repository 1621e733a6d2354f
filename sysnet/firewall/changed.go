package firewall

import (
	"maps"
	"strings"
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

// legacyChanged compares the tables of iptables-legacy.
func (p *fingerprint) legacyChanged() bool {
	if time.Since(p.listed) < p.pause {
		return false
	}
	begin, now := time.Now(), map[string]string{}
	for _, v6 := range []bool{false, true} {
		if !legacy(v6) {
			continue
		}
		t, err := open("legacy", v6)
		if err != nil {
			continue // Keep reports it
		}
		lines, err := t.saved()
		if err != nil {
			return false // e.g. locked by another program for long
		}
		now[t.name] = strings.Join(lines, "\n")
	}
	changed := !maps.Equal(now, p.legacy)
	p.legacy, p.listed = now, time.Now()
	p.pause = legacyShare * p.listed.Sub(begin)
	return changed
}
