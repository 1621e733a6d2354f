package lint

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// HostName is the state of a backend's host name.
type HostName struct {
	// Problem explains why the name has had no address since GoneSince; "" while it has
	// one.
	Problem   string
	GoneSince time.Time
	// Withdrawn means that its last addresses are no longer used.
	Withdrawn bool
	// Unused lists addresses without a backend. Cut means that there are more than Sluice
	// reads.
	Unused []string
	Cut    bool
}

// shownAddresses bounds the addresses listed in a finding.
const shownAddresses = 4

// hostName reports a name without addresses, and unused addresses.
func (l *look) hostName(g farm.Group, position int) {
	b, number := &g.Backends()[position], g.Number(position)
	name := l.evidence.HostName(g, b)
	of := Finding{Severity: Warning, Farm: g.Farm.Name, Service: g.Name(), Backend: &number}
	if name.Problem != "" {
		gone := of
		gone.Code, gone.Message = NameGone, fmt.Sprintf("the host name %s of backend %d of %s has no address", b.Host, number, g)
		gone.Evidence = name.Problem + "; its last addresses are still used"
		gone.Advice = "correct the name, or delete the backend"
		if name.Withdrawn {
			gone.Severity, gone.Evidence = Error, name.Problem+"; its last addresses are no longer returned, because they may belong to somebody else by now"
		}
		if !name.GoneSince.IsZero() {
			since := name.GoneSince.UTC()
			gone.Since = &since
		}
		l.add(gone)
	}
	if len(name.Unused) == 0 && !name.Cut {
		return
	}
	of.Code, of.Message = AddressesUnused, fmt.Sprintf("not all addresses of %s are used by backend %d of %s", b.Host, number, g)
	var evidence []string
	if len(name.Unused) > 0 {
		evidence = append(evidence, fmt.Sprintf("unused addresses: %d (%s)", len(name.Unused), firstOf(name.Unused)))
	}
	if name.Cut {
		evidence = append(evidence, "the name has more addresses than are read")
	}
	of.Evidence = strings.Join(evidence, "; ")
	of.Advice = "remove addresses that cannot be those of a server from the name; if there are too many, spread them over several names"
	l.add(of)
}

// firstOf lists the first addresses.
func firstOf(list []string) string {
	if len(list) > shownAddresses {
		return strings.Join(list[:shownAddresses], ", ") + " …"
	}
	return strings.Join(list, ", ")
}
