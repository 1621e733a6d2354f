package farm

import (
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Follow assigns numbers to zones and records without one, and serials to zones. A serial
// stays if no answer changed, otherwise it is incremented; a new zone gets first. before
// holds the previous settings, or nil. A newer serial in the zone or its SOA record is used.
// Existing values are not written, because others may read them. Zones with many records are
// packed.
func (g *GSLB) Follow(before *GSLB, first uint32) {
	if before == nil {
		before = &GSLB{}
	}
	last := max(g.LastZone, before.LastZone)
	taken := map[uint32]bool{}
	for i := range g.Zones {
		z := &g.Zones[i]
		was := before.zoneBefore(z, taken)
		if was != nil && z.ID != was.ID {
			z.ID = was.ID
		}
		z.follow(was, first)
		last = max(last, z.ID)
		taken[z.ID] = true
	}
	for i := range g.Zones {
		if g.Zones[i].ID == 0 {
			last++
			g.Zones[i].ID = last
		}
	}
	if g.LastZone != last {
		g.LastZone = last
	}
}

// zoneBefore returns the previous version of a zone, by name, else by number.
func (g *GSLB) zoneBefore(z *Zone, taken map[uint32]bool) *Zone {
	if was := g.Zone(z.Name); was != nil {
		return was
	}
	at := slices.IndexFunc(g.Zones, func(was Zone) bool { return z.ID != 0 && was.ID == z.ID && !taken[was.ID] })
	if at < 0 {
		return nil
	}
	return &g.Zones[at]
}

// NewerSerial reports whether secondaries consider a serial newer than another (RFC 1982
// §3.2).
func NewerSerial(serial, than uint32) bool { return int32(serial-than) > 0 }

// NextSerial returns the successor of a serial. 0 means none.
func NextSerial(serial uint32) uint32 { return max(serial+1, 1) }

func (z *Zone) follow(was *Zone, first uint32) {
	serial := first
	if was == nil {
		z.number(nil)
	} else {
		z.number(was)
		if serial = was.Serial; !z.answersAs(was) {
			serial = NextSerial(serial)
		}
	}
	// Servers that copied the zone from another server, with its serial, only accept a newer
	// one.
	for _, told := range []uint32{z.Serial, z.soaSerial()} {
		if told != 0 && NewerSerial(told, serial) {
			serial = told
		}
	}
	if z.Serial != serial {
		z.Serial = serial
	}
	z.Pack(was)
}

// soaSerial returns the serial of the zone's SOA record, or 0 without one.
func (z *Zone) soaSerial() uint32 {
	for _, r := range z.OfType("SOA") {
		words := strings.Fields(strings.NewReplacer("(", " ", ")", " ").Replace(r.Data))
		if len(words) < 3 {
			return 0
		}
		serial, _ := strconv.ParseUint(words[2], 10, 32)
		return uint32(serial)
	}
	return 0
}

// answersAs reports whether both zones give the same answers.
func (z *Zone) answersAs(o *Zone) bool {
	return z.Name == o.Name && z.NameServer == o.NameServer && z.TTL == o.TTL && z.Signing == o.Signing &&
		slices.EqualFunc(z.Keys, o.Keys, sameKey) && z.sameAnswers(o)
}

// sameAnswers reports whether both zones have the same records in the same order, regardless
// of numbers and comments.
func (z *Zone) sameAnswers(o *Zone) bool {
	n := z.Len()
	if n != o.Len() {
		return false
	}
	i, j := 0, 0
	for _, run := range append(AlignZones(o, z), RecordRun{n, n, 0}) {
		if run.Old != run.New { // other positions: the next records tell in nearly all cases
			next := min(n, max(run.Old, run.New)+1)
			return slices.EqualFunc(z.Slice(i, next), o.Slice(i, next), sameAnswer) &&
				slices.EqualFunc(z.Unpacked(), o.Unpacked(), sameAnswer)
		}
		if !slices.EqualFunc(o.Slice(i, run.Old), z.Slice(j, run.New), sameAnswer) {
			return false
		}
		i, j = run.Old+run.Length, run.New+run.Length
	}
	return true
}

func sameAnswer(a, b Record) bool {
	return a.Name == b.Name && a.Type == b.Type && a.TTL == b.TTL && a.Data == b.Data
}

// sameKey reports whether both keys give the same answers. Observations of the parent zone
// are ignored.
func sameKey(a, b ZoneKey) bool {
	a.DSSeen, b.DSSeen, a.DSTTL, b.DSTTL = 0, 0, 0, 0
	return a == b
}

// number assigns a number to each record without one: the number of the same previous
// record, or the next free one. If two records have the same number, the second gets a new
// one.
func (z *Zone) number(was *Zone) {
	if was != nil && (z.sharesRecords(was) && z.LastRecord == was.LastRecord || z.numberRuns(was)) {
		return
	}
	z.Unpack()
	last := z.LastRecord
	if was != nil {
		last = max(last, was.LastRecord)
	}
	taken := make(map[uint32]bool, len(z.Records))
	without := numberless(z.Records, taken)
	for id := range taken {
		last = max(last, id)
	}
	z.setLastRecord(giveIDs(without, was.numbersOf(without), taken, last))
}

// sharesRecords reports whether two zones share one unpacked list of records.
func (z *Zone) sharesRecords(o *Zone) bool {
	return len(z.Packed)+len(o.Packed) == 0 && len(z.Records) > 0 && len(z.Records) == len(o.Records) && &z.Records[0] == &o.Records[0]
}

// numberless returns the records without a number, and adds the numbers of the others to
// taken. A record with a taken number loses it.
func numberless(records []Record, taken map[uint32]bool) (without []*Record) {
	for i := range records {
		r := &records[i]
		if r.ID != 0 && taken[r.ID] {
			r.ID = 0
		}
		if r.ID == 0 {
			without = append(without, r)
			continue
		}
		taken[r.ID] = true
	}
	return without
}

// giveIDs assigns each record a free number of an equal record in known, or the next
// number after last. It returns the highest number.
func giveIDs(without []*Record, known map[string][]uint32, taken map[uint32]bool, last uint32) uint32 {
	for _, r := range without {
		ids := known[r.Key()]
		if at := slices.IndexFunc(ids, func(id uint32) bool { return id != 0 && !taken[id] }); at >= 0 {
			r.ID = ids[at]
		} else {
			last++
			r.ID = last
		}
		taken[r.ID] = true
	}
	return last
}

func (z *Zone) setLastRecord(last uint32) {
	if z.LastRecord != last {
		z.LastRecord = last
	}
}

// numbersOf returns the numbers of a zone's records, by key. For a change of one record in a
// million only the records of its name are compared.
func (z *Zone) numbersOf(records []*Record) map[string][]uint32 {
	if z == nil || len(records) == 0 {
		return nil
	}
	return numbersIn(z.All(), records)
}

// numbersIn returns the numbers of the records in some, by key. It skips names that no
// record of others has.
func numbersIn(some iter.Seq2[int, Record], others []*Record) map[string][]uint32 {
	names := make(map[string]bool, len(others))
	for _, r := range others {
		names[strings.ToLower(r.Name)] = true
	}
	known := map[string][]uint32{}
	for _, r := range some {
		if names[strings.ToLower(r.Name)] {
			k := r.Key()
			known[k] = append(known[k], r.ID)
		}
	}
	return known
}

// numbered reports whether everything in the settings has a number.
func (g *GSLB) numbered() bool {
	for i := range g.Zones {
		z := &g.Zones[i]
		if z.ID == 0 || z.ID > g.LastZone {
			return false
		}
		if !z.numberedRuns() || slices.ContainsFunc(z.Records, func(r Record) bool { return r.ID == 0 || r.ID > z.LastRecord }) {
			return false
		}
	}
	return true
}

// Key identifies equal records of a zone.
func (r *Record) Key() string { return strings.ToLower(r.Name) + " " + string(r.Type) + " " + r.Data }
