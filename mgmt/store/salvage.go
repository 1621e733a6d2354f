package store

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/store/boltfile"
)

// salvage creates a new file from all readable data of a damaged one.
//
// bbolt copies pages before it changes them, so the file also holds the previous transaction.
// Data lost in the newest is taken from there, and revisions from any page. The newest intact
// configuration becomes the current one.
func (s *Store) salvage(file *boltfile.File, why error) error {
	v := &salvaged{file: file, layout: schemaVersion, parts: map[string]held{}, older: map[string]bool{}, loose: map[uint64]bool{}, sequences: map[string]uint64{}}
	if !v.collect() {
		return fmt.Errorf("%w: %w", ErrCorrupt, why)
	}
	if err := v.settle(); err != nil {
		return fmt.Errorf("%w: %w, and %w", ErrCorrupt, why, err)
	}
	return s.replace(v, Damage{Time: time.Now().UTC().Truncate(time.Second), Reason: why.Error(), Lost: v.lost})
}

// salvaged is the data read from a damaged file.
type salvaged struct {
	file      *boltfile.File
	layout    int
	parts     map[string]held
	sequences map[string]uint64
	lost      []string
	// older are the parts that the damaged root page of the newest transaction does not name.
	// They are read from earlier transactions.
	older map[string]bool
	// loose are the revisions that are in no list.
	loose map[uint64]bool
	// pieces are the parts of current configurations, by checksum.
	pieces map[digest][]byte
	// now is the newest configuration. kept means that its record may stay, in a layout of one
	// record.
	now  *snapshot
	kept bool
}

// collect reads the parts and reports whether they belong to a store with checksums.
func (v *salvaged) collect() bool {
	trees := v.trees()
	found, sure := 0, map[string]bool{}
	v.pieces = piecesIn(trees)
	for _, bucket := range buckets {
		name, seen := string(bucket), 0
		v.parts[name], sure[name] = v.part(name, trees)
		for _, t := range trees {
			if b := t.Buckets[name]; b != nil {
				v.sequences[name] = max(v.sequences[name], b.Sequence)
				seen = 1
			}
		}
		found += seen
	}
	if found < 3 {
		return false
	}
	if sum, err := summaryOf(trees[0]); err == nil && sum != nil {
		sum.mend(v.parts)
		sure[string(settingsBucket)], sure[string(documentsBucket)] = true, true
	}
	for _, name := range buckets {
		v.report(string(name), sure[string(name)])
	}
	meta := v.parts[string(metaBucket)]
	if version := layoutOf(meta); version >= 1 && version < schemaVersion {
		v.layout = version
	} else {
		meta[string(schemaKey)] = []byte(fmt.Sprint(schemaVersion))
	}
	return v.layout > 1
}

// trees returns the trees of the transactions the file may still hold, newest first.
func (v *salvaged) trees() (out []*boltfile.Tree) {
	for _, head := range v.file.Heads() {
		out = append(out, v.file.Read(head))
	}
	if len(out) == 2 && len(out[0].Buckets) >= len(buckets) {
		return out
	}
	if len(out) > 0 {
		for _, name := range buckets {
			v.older[string(name)] = out[0].Fault() != nil && out[0].Buckets[string(name)] == nil
		}
	}
	known := func(name []byte) bool {
		return slices.ContainsFunc(buckets, func(b []byte) bool { return string(b) == string(name) })
	}
	for _, root := range v.file.Roots(known) {
		out = append(out, v.file.Read(root))
	}
	slices.SortStableFunc(out, func(x, y *boltfile.Tree) int {
		return cmp.Or(cmp.Compare(newestOf(y), newestOf(x)), cmp.Compare(txOf(y), txOf(x)))
	})
	return out
}

// txOf returns the number of a transaction from its head or its summary, else 0.
func txOf(t *boltfile.Tree) uint64 {
	if sum, err := summaryOf(t); t.Tx == 0 && err == nil && sum != nil {
		return sum.Tx
	}
	return t.Tx
}

// newestOf returns the number of the newest intact revision in a tree.
func newestOf(t *boltfile.Tree) (newest uint64) {
	if b := t.Buckets[string(currentBucket)]; b != nil {
		for _, r := range b.Records {
			if number, ok := numberOf(r.Value); ok {
				newest = max(newest, number)
			}
		}
	}
	return newest
}

// part merges a bucket of several trees and takes the newest intact version of each record. A
// nil value is a damaged record. sure means that there are no other records.
func (v *salvaged) part(name string, trees []*boltfile.Tree) (part held, sure bool) {
	part = held{}
	for _, t := range trees {
		b := t.Buckets[name]
		if b == nil {
			continue
		}
		for _, r := range b.Records {
			key, good := identity(name, r)
			before, known := part[key]
			switch {
			case good && known && before == nil, good && !known && !sure:
				part[key] = r.Value
			case !good && !known && !sure:
				part[key] = nil
			}
		}
		sure = sure || !b.Broken
	}
	if name == string(revisionsBucket) && (!sure || v.older[name]) {
		v.gather(part, sure)
	}
	return part, sure
}

// gather adds revisions from all pages. If sure, it adds only those newer than all of part,
// since older ones were deleted. Of several with one number it takes the latest: a page may be
// from a transaction that was never confirmed.
func (v *salvaged) gather(part held, sure bool) {
	newest, added := highestOf(part), map[string]time.Time{}
	v.file.Leaves(func(key, value []byte) {
		k, good := identity(string(revisionsBucket), boltfile.Record{Key: key, Value: value})
		before, again := added[k]
		if !good || part[k] != nil && !again {
			return
		}
		n, err := keyNumber([]byte(k))
		if sure && (err != nil || n <= newest) {
			return
		}
		var e entry
		if _ = unsealRevision(value, &e); again && !e.Time.After(before) { // it is intact
			return
		}
		part[k], added[k], v.loose[n] = value, e.Time, true
	})
}

// identity returns the key of a record, which most records contain themselves, and whether the
// record is intact.
func identity(name string, r boltfile.Record) (key string, good bool) {
	key = string(r.Key)
	if name == string(metaBucket) || name == string(settingsBucket) {
		return key, true
	}
	if !intact(r.Value) {
		return key, false
	}
	switch name {
	case string(farmsBucket), string(zonesBucket): // found by their checksums
		return key, false
	case string(revisionsBucket):
		var e entry
		if len(key) != 8 || unsealRevision(r.Value, &e) != nil || e.Number == 0 {
			return key, false
		}
		return string(numberKey(e.Number)), true
	case string(currentBucket):
		number, ok := numberOf(r.Value)
		return string(numberKey(number)), ok
	case string(keysBucket):
		var k keyEntry
		if unseal(r.Value, &k) != nil {
			return key, false
		}
		return string(numberKey(k.ID)), true
	case string(certificatesBucket), string(authoritiesBucket):
		var of struct{ Name string }
		if unseal(r.Value, &of) != nil || of.Name == "" {
			return key, false
		}
		return of.Name, true
	}
	return key, true
}

// settle finds the newest readable configuration and cleans up the history.
func (v *salvaged) settle() error {
	current, revisions := v.parts[string(currentBucket)], v.parts[string(revisionsBucket)]
	v.dropUnlikely(current, revisions)
	highest := max(highestOf(current), highestOf(revisions))
	if record := current[string(numberKey(highestOf(current)))]; record != nil {
		v.now, _ = v.readNewest(record)
		v.kept = true
	}
	for n := highestOf(revisions); n > 0 && (v.now == nil || n > v.now.Number); n-- {
		if cfg, rev, err := read(revisions, n); err == nil {
			rev.Diff = ""
			v.now, v.kept = &snapshot{rev, cfg}, false
			break
		}
	}
	switch {
	case v.now == nil && highest == 0:
		v.now, v.kept = &snapshot{Config: &farm.Config{}}, true
		return nil
	case v.now == nil:
		return fmt.Errorf("no revision can be read")
	}
	if v.now.Number < highest {
		v.rollBack(highest)
	}
	if v.loose[v.now.Number] {
		v.lost = append(v.lost, fmt.Sprintf("the list entry of revision %d, which is in force: it may be a change that was never confirmed", v.now.Number))
	}
	v.reportRevisions()
	return v.standAlone()
}

// dropUnlikely removes damaged records with numbers far above all intact ones: the number
// itself was damaged, as the newest revision cannot be that far ahead.
func (v *salvaged) dropUnlikely(current, revisions held) {
	most := uint64(len(current) + len(revisions))
	for _, part := range []held{current, revisions} {
		for k, record := range part {
			if n, err := keyNumber([]byte(k)); err == nil && record != nil {
				most = max(most, n+uint64(len(current)+len(revisions)))
			}
		}
	}
	dropped := false
	for _, part := range []held{current, revisions} {
		maps.DeleteFunc(part, func(k string, record []byte) bool {
			n, err := keyNumber([]byte(k))
			drop := err == nil && record == nil && n > most
			dropped = dropped || drop
			return drop
		})
	}
	if dropped {
		v.lost = append(v.lost, "a revision whose number cannot be read")
	}
}

func highestOf(part held) (highest uint64) {
	for k := range part {
		if n, err := keyNumber([]byte(k)); err == nil {
			highest = max(highest, n)
		}
	}
	return highest
}

// repairSource is the source of revisions created by salvage.
const repairSource = "repair"

// rollBack makes the newest readable configuration a revision after all unreadable ones, so
// that no number has two configurations.
func (v *salvaged) rollBack(highest uint64) {
	was := v.now.Number
	gone := plural("revision", "revisions", was+1, highest)
	v.lost = append(v.lost, fmt.Sprintf("%s, the newest: the configuration of revision %d is in force, as revision %d", gone, was, highest+1))
	for n := was + 1; n <= highest; n++ {
		delete(v.parts[string(revisionsBucket)], string(numberKey(n)))
	}
	v.now.Revision = Revision{Number: highest + 1, Time: time.Now().UTC().Round(0), Author: "sluice", Source: repairSource,
		Comment: fmt.Sprintf("revision %d again: the store was damaged, %s cannot be read", was, gone)}
	v.kept = false
}

func plural(one, many string, from, to uint64) string {
	if from == to {
		return fmt.Sprintf("%s %d", one, from)
	}
	return fmt.Sprintf("%s %d to %d", many, from, to)
}

// standAlone rewrites the newest revision as a whole one if it is not readable otherwise, since
// later ones are built on it.
func (v *salvaged) standAlone() error {
	revisions := v.parts[string(revisionsBucket)]
	key := string(numberKey(v.now.Number))
	if cfg, _, err := read(revisions, v.now.Number); err == nil && cfg != nil {
		return nil
	}
	e := v.now.entry()
	var was entry
	if record := revisions[key]; record != nil && unsealRevision(record, &was) == nil {
		e.Revision = was.Revision
	} else if v.now.Source != repairSource {
		if e.Diff, e.DiffOmitted = differenceTo(v.now.Config, revisions, v.now.Number-1); e.DiffOmitted {
			v.lost = append(v.lost, fmt.Sprintf("the difference of revision %d", v.now.Number))
		}
		e.shorten(maxDiff)
	}
	record, err := sealRevision(e, nil)
	revisions[key] = record
	return err
}

// reportRevisions reports the lost revisions except the newest, and removes damaged ones.
func (v *salvaged) reportRevisions() {
	revisions := v.parts[string(revisionsBucket)]
	numbers := make([]uint64, 0, len(revisions))
	for k := range revisions {
		if n, err := keyNumber([]byte(k)); err == nil {
			numbers = append(numbers, n)
		} else {
			delete(revisions, k)
		}
	}
	slices.Sort(numbers)
	var damaged, stranded []uint64
	before, readable := uint64(0), true
	for _, n := range numbers {
		record := revisions[string(numberKey(n))]
		if record == nil {
			if n != v.now.Number {
				damaged = append(damaged, n)
			}
			delete(revisions, string(numberKey(n)))
			readable, before = false, n
			continue
		}
		var e entry
		_ = unsealRevision(record, &e) // it is intact
		readable = e.Change.Whole || readable && n == before+1
		if !readable && n != v.now.Number {
			stranded = append(stranded, n)
		}
		before = n
	}
	if len(damaged) > 0 {
		v.lost = append(v.lost, listed("revision", "revisions", damaged))
	}
	if len(stranded) > 0 {
		v.lost = append(v.lost, "the configuration of "+listed("revision", "revisions", stranded)+", which is kept as a change of a lost one (the difference is there)")
	}
}

// listed formats numbers, with runs as ranges.
func listed(one, many string, numbers []uint64) string {
	var runs []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if i == j {
			runs = append(runs, fmt.Sprint(numbers[i]))
		} else {
			runs = append(runs, fmt.Sprintf("%d to %d", numbers[i], numbers[j]))
		}
		i = j + 1
	}
	if len(numbers) > 1 {
		one = many
	}
	return one + " " + strings.Join(runs, ", ")
}

// partNames are the readable names of parts: singular and plural.
var partNames = map[string][2]string{
	string(keysBucket):         {"the API key", "API keys"},
	string(certificatesBucket): {"the certificate", "certificates"},
	string(authoritiesBucket):  {"the list of authorities", "lists of authorities"},
	string(documentsBucket):    {"the document", "documents"},
	string(settingsBucket):     {"the setting", "settings"},
	string(revisionsBucket):    {"revision", "revisions"},
}

// report reports the lost records of a part and removes them. Revisions are reported later.
func (v *salvaged) report(name string, sure bool) {
	part := v.parts[name]
	words, is := partNames[name]
	if !is { // the newest configuration has a copy; the layout is found otherwise
		return
	}
	if !sure {
		v.lost = append(v.lost, "perhaps some "+words[1]+": a part of their list cannot be read")
	}
	if name == string(revisionsBucket) {
		return
	}
	if sure && v.older[name] {
		v.lost = append(v.lost, "perhaps the last change of "+words[1])
	}
	keys := make([]string, 0, len(part))
	for k, record := range part {
		if record == nil {
			keys = append(keys, k)
			delete(part, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		v.lost = append(v.lost, words[0]+" "+shownKey(name, []byte(k)))
	}
}

// readNewest reads the current configuration of this or an earlier layout.
func (v *salvaged) readNewest(record []byte) (*snapshot, error) {
	if v.layout == schemaVersion {
		now, _, err := readParts(record, func(_, _ []byte, sum digest) []byte { return v.pieces[sum] })
		return now, err
	}
	now, err := readSnapshot(record)
	if err == nil {
		return now, nil
	}
	var old wholeRevision
	if unseal(record, &old) == nil && old.Config != nil {
		return &snapshot{old.Revision, old.Config}, nil
	}
	return nil, err
}

// piecesIn returns all intact parts of current configurations by checksum, regardless of their
// keys and transactions.
func piecesIn(trees []*boltfile.Tree) map[digest][]byte {
	out := map[digest][]byte{}
	for _, t := range trees {
		for _, name := range partBuckets {
			b := t.Buckets[string(name)]
			if b == nil {
				continue
			}
			for _, r := range b.Records {
				if intact(r.Value) {
					out[digestOf(r.Value)] = r.Value
				}
			}
		}
	}
	return out
}

// numberOf returns the revision of a record of the current configuration, in any layout.
func numberOf(record []byte) (uint64, bool) {
	var heads headReader
	var rev Revision
	err := heads.read(record, &rev)
	return rev.Number, err == nil
}

// cursorsOf returns the last IDs given: the stored ones, or the highest of the configuration.
func (v *salvaged) cursorsOf() (c cursors) {
	for kind, name := range kindNames {
		if value := v.parts[string(metaBucket)][name]; len(value) == 4 && binary.BigEndian.Uint32(value) <= maxIDs[kind] {
			c[kind] = binary.BigEndian.Uint32(value)
		}
	}
	_ = eachID(v.now.Config, func(kind int, id *uint32) error {
		c[kind] = max(c[kind], *id)
		return nil
	})
	return c
}
