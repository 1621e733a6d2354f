package lint

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// HostName is what is known of the host name of a backend.
type HostName struct {
	// Problem says why the name has no address, since GoneSince; empty while it has.
	Problem   string
	GoneSince time.Time
	// Withdrawn: its last addresses are not used any more.
	Withdrawn bool
	// Unused are addresses of the name that no backend stands for, Cut that there are more
	// than Sluice reads.
	Unused []string
	Cut    bool
}

// shownAddresses bounds the addresses in the text of a finding.
const shownAddresses = 4

// hostName reports a name without addresses, and addresses of it that are not used.
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

// firstOf shows the first of some addresses.
func firstOf(list []string) string {
	if len(list) > shownAddresses {
		return strings.Join(list[:shownAddresses], ", ") + " …"
	}
	return strings.Join(list, ", ")
}
