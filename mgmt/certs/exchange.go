package certs

import (
	"maps"

	"github.com/sluicelb/sluice/mgmt/store"
)

// Exchange prepares that a Book has these certificates and authorities instead of its
// own, without the store: swap puts them there, undo the ones there were when swap was
// called first, however often either is called. That of the appliance stays. The one
// writer of the configuration must be held from swap on until it is known which of both
// the store has.
func (b *Book) Exchange(certificates []store.Certificate, authorities []store.Authority) (swap, undo func()) {
	entries, lists := map[string]*entry{}, map[string]*authority{}
	for _, rec := range certificates {
		entries[rec.Name] = readEntry(rec)
	}
	for _, rec := range authorities {
		lists[rec.Name] = readAuthority(rec)
	}
	delete(entries, ApplianceName)
	var before map[string]*entry
	var listsBefore map[string]*authority
	swap = func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if before == nil {
			before, listsBefore = b.entries, b.authorities
		}
		b.entries, b.authorities = maps.Clone(entries), maps.Clone(lists)
		if own := before[ApplianceName]; own != nil {
			b.entries[ApplianceName] = own
		}
	}
	undo = func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if before != nil {
			b.entries, b.authorities = maps.Clone(before), maps.Clone(listsBefore)
		}
	}
	return swap, undo
}
