package certs

import (
	"maps"

	"github.com/sluicelb/sluice/mgmt/store"
)

// Exchange prepares to replace the certificates and authorities of a Book without changing
// the store. swap installs the new ones; undo restores those present at the first swap.
// Both may be called repeatedly. The appliance's own certificate stays. From swap on, hold
// the configuration writer until it is known which of the two the store contains.
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
