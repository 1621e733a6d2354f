package zone_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/dns/wire"
	"github.com/sluicelb/sluice/dns/zone"
)

// addresses implements zone.Services. The address that a service chooses identifies the
// service.
type addresses struct{}

func (addresses) Choose(service int, _ *wire.Query, v6 bool, p *zone.Pick) {
	p.Count, p.TTL = 1, 30
	p.Addresses[0] = [16]byte{192, 0, 2, byte(service), 15: 1}
}

// labels are the labels of all names in these tests, few so that names collide.
var labels = []string{"a", "b", "*", "cc"}

// known caches the results of every by number of zones.
var known = map[int][][]byte{}

// every returns all names of up to three labels, alone and below each zone.
func every(zones []farm.Zone) (names [][]byte) {
	if names = known[len(zones)]; names != nil {
		return names
	}
	defer func() { known[len(zones)] = names }()
	relative := []string{"@"}
	for from, depth := 0, 0; depth < 3; depth++ {
		to := len(relative)
		for _, below := range relative[from:to] {
			for _, l := range labels {
				if below == "@" {
					relative = append(relative, l)
				} else {
					relative = append(relative, l+"."+below)
				}
			}
		}
		from = to
	}
	for i := range zones {
		for _, r := range relative {
			name, err := rdata.Name(r, zones[i].Name)
			if err != nil {
				panic(err)
			}
			names = append(names, name)
		}
	}
	return names
}

var kinds = []uint16{wire.TypeA, wire.TypeAAAA, wire.TypeNS, wire.TypeCNAME, wire.TypeMX, wire.TypeSRV, wire.TypeDS, wire.TypeSOA, wire.TypeDNAME, wire.TypeANY, wire.TypeNSEC, wire.TypeRRSIG, wire.TypeDNSKEY, 16}

// asker answers from a table and has its own message buffer.
type asker struct {
	*zone.Table
	a     *zone.Answerer
	q     wire.Query
	r     wire.Reply
	space []byte
	msg   []byte
	trail []byte
}

func ask(t *zone.Table) *asker {
	k := &asker{Table: t, space: make([]byte, 0, 32<<10)}
	k.begin()
	return k
}

// begin creates a new answerer, which has no cached signatures.
func (k *asker) begin() {
	k.a = &zone.Answerer{Services: addresses{}, Trail: func(s zone.Step) {
		k.trail = append(append(append(append(k.trail, s.Zone...), s.Name...), s.Type...), byte(s.Service))
	}}
	k.a.Signer.Now = func() int64 { return 1_700_000_000 }
}

// answer returns the complete answer to a question and its trail. The message has no size
// limit. Both results are valid until the next call.
func (k *asker) answer(name []byte, kind uint16, do bool) (msg, trail []byte) {
	k.msg = append(append(k.msg[:0], make([]byte, 12)...), name...)
	k.msg[5], k.trail = 1, k.trail[:0]
	k.msg = append(binary.BigEndian.AppendUint16(k.msg, kind), 0, 1)
	if do {
		k.begin()
		k.msg[11] = 1
		k.msg = append(k.msg, 0, 0, 41, 16, 0, 0, 0, 0x80, 0, 0, 0)
	}
	k.q = wire.Query{TCP: true}
	if verdict, _ := k.q.Parse(k.msg); verdict != wire.Serve {
		panic("the question is none")
	}
	k.r.Begin(&k.q, k.msg, k.space, cap(k.space))
	if !k.a.Answer(k.Table, &k.q, &k.r) {
		return nil, nil
	}
	k.trail = append(k.trail, k.a.Zone()...)
	return k.r.End(&k.q, &wire.Server{}), k.trail
}

// copyOf returns the records of a transfer, sorted, because an updated table has another
// order of names.
func copyOf(t *zone.Table, apex []byte) string {
	c, is := t.Transfer(apex)
	if !is {
		return "none"
	}
	msg := append(make([]byte, 12, 512), apex...)
	msg[5] = 1
	msg = append(msg, 0, 252, 0, 1)
	var all []string
	for more := true; more; {
		a, q, r := &zone.Answerer{Services: addresses{}}, &wire.Query{TCP: true}, &wire.Reply{}
		q.Parse(msg)
		r.Begin(q, msg, make([]byte, 0, 4096), 700)
		more = a.Transfer(&c, q, r)
		answer, _, _, err := rdata.Sections(r.End(q, &wire.Server{}))
		if err != nil {
			return err.Error()
		}
		all = append(all, answer...)
	}
	ends := all[0] + all[len(all)-1]
	slices.Sort(all)
	return ends + strings.Join(all, "\n")
}

// world is a farm with randomly changing zones.
type world struct {
	random *rand.Rand
	next   uint32 // ID of the next record
	runs   map[string]string
	packed bool
}

func (w *world) name() string {
	all := make([]string, 1+w.random.IntN(3))
	for i := range all {
		all[i] = labels[w.random.IntN(len(labels))]
	}
	if w.random.IntN(8) == 0 {
		return strings.ToUpper(strings.Join(all, "."))
	}
	return strings.Join(all, ".")
}

func (w *world) record() farm.Record {
	w.next++
	r := farm.Record{ID: w.next, Name: w.name(), TTL: farm.Seconds(w.random.IntN(3))}
	target := w.name()
	if w.random.IntN(6) == 0 {
		target += ".other."
	}
	type form struct{ kind, data string }
	// Most records are addresses, because delegations and DNAME records require Compile
	// more often.
	forms := []form{{"MX", "10 " + target}, {"SRV", "1 2 3 " + target}, {"CNAME", target}, {"DYNA", fmt.Sprint("s", w.random.IntN(2))}, {"NS", target}, {"DNAME", target}, {"DS", "1 13 2 " + strings.Repeat("ab", 32)}, {"TXT", "x"}}
	one := form{"A", fmt.Sprint("192.0.2.", w.random.IntN(4))}
	if w.random.IntN(2) == 0 {
		one = forms[w.random.IntN(len(forms))]
	}
	r.Type, r.Data = farm.RecordType(one.kind), one.data
	return r
}

// pack packs the records of a zone like an engine. Unchanged runs share memory.
func (w *world) pack(z farm.Zone) farm.Zone {
	if !w.packed {
		return z
	}
	for list := z.Records; len(list) > 0; {
		n := 1
		for n < len(list) && n < 6 && list[n].ID%4 != 0 {
			n++
		}
		run := string(farm.AppendPacked(nil, list[:n]))
		if w.runs[run] == "" {
			w.runs[run] = run
		}
		z.Packed, list = append(z.Packed, w.runs[run]), list[n:]
	}
	z.Records = nil
	return z
}

func (w *world) farm(zones []farm.Zone) *farm.GSLB {
	g := &farm.GSLB{Services: []farm.DNSService{{Name: "s0"}, {Name: "s1"}}}
	for _, z := range zones {
		g.Zones = append(g.Zones, w.pack(z))
	}
	return g
}

// zones returns the zones of a farm, where one may be below another or signed.
func (w *world) zones(t *testing.T) (zones []farm.Zone) {
	for i, name := range []string{"example", "a.example", "other"} {
		if i == 1 && w.random.IntN(3) > 0 {
			continue
		}
		z := farm.Zone{Name: name, Serial: 1, NameServer: "a"}
		for range w.random.IntN(25) {
			z.Records = append(z.Records, w.record())
		}
		if w.random.IntN(2) == 0 {
			z.Records = append(z.Records, farm.Record{ID: 900_000, Name: "@", Type: "NS", Data: "a"}, farm.Record{ID: 900_001, Name: "@", Type: "MX", Data: "1 b"})
		}
		if w.random.IntN(4) == 0 {
			z.Records = append(z.Records, farm.Record{ID: 900_002, Name: "@", Type: "SOA", Data: fmt.Sprintf("ns b %d 1 2 3 4", w.random.IntN(9))})
		}
		if w.random.IntN(5) == 0 {
			public, private, err := rdata.NewKey(farm.SignEd25519)
			if err != nil {
				t.Fatal(err)
			}
			z.Signing, z.Keys = farm.SignEd25519, []farm.ZoneKey{{Algorithm: farm.SignEd25519, State: farm.KeyActive, Public: public, Private: farm.Secret(private)}}
		}
		zones = append(zones, z)
	}
	return zones
}

// edit changes a few records of some zones.
func (w *world) edit(zones []farm.Zone) []farm.Zone {
	zones = slices.Clone(zones)
	for range 1 + w.random.IntN(2) {
		z := &zones[w.random.IntN(len(zones))]
		z.Serial++
		z.Records = slices.Clone(z.Records)
		for range w.random.IntN(4) {
			at := func() int { return w.random.IntN(len(z.Records)) }
			switch kind := w.random.IntN(8); {
			case len(z.Records) == 0 || kind < 2:
				z.Records = append(z.Records, w.record())
			case kind == 2:
				z.Records = slices.Insert(z.Records, at(), w.record())
			case kind < 6:
				i := at()
				z.Records = slices.Delete(z.Records, i, i+1)
			case kind == 6:
				i := at()
				z.Records[i].TTL = farm.Seconds(w.random.IntN(4))
			case kind == 7:
				z.Records = append(z.Records, z.Records[at()])
			}
		}
	}
	return zones
}

// alike fails the test unless two tables give the same answers.
func alike(t *testing.T, got, want *zone.Table, zones []farm.Zone) {
	t.Helper()
	one, other := ask(got), ask(want)
	same := func(name []byte, kind uint16, do bool) {
		a, trail := one.answer(name, kind, do)
		b, path := other.answer(name, kind, do)
		if !bytes.Equal(a, b) || !bytes.Equal(trail, path) {
			t.Fatalf("%s %d, signed %t:\n%x %q\nwant\n%x %q\nof %+v", rdata.NameText(name), kind, do, a, trail, b, path, zones)
		}
	}
	for _, name := range every(zones) {
		for _, kind := range kinds {
			same(name, kind, false)
		}
	}
	for i := range zones {
		apex, err := rdata.Name("@", zones[i].Name)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := copyOf(got, apex), copyOf(want, apex); a != b {
			t.Fatalf("the copy of %s:\n%s\nwant\n%s", zones[i].Name, a, b)
		}
		if zones[i].Signing == "" {
			continue
		}
		for _, r := range []string{"@", "a", "b.a", "*.b", "x.cc", "a.b.b"} {
			name, _ := rdata.Name(r, zones[i].Name)
			for _, kind := range []uint16{wire.TypeA, wire.TypeNS, wire.TypeMX} {
				same(name, kind, true)
			}
		}
	}
	for i, z := range got.Zones() {
		if z.Serial != want.Zones()[i].Serial {
			t.Fatalf("serial %d of %s, want %d", z.Serial, z.Name, want.Zones()[i].Serial)
		}
	}
}

func compiled(t *testing.T, g *farm.GSLB) *zone.Table {
	t.Helper()
	table, err := zone.Compile(g)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// follow edits a world the given number of times and returns how many tables came from
// Update.
func (w *world) follow(t *testing.T, times int) (followed int) {
	zones := w.zones(t)
	was := w.farm(zones)
	table := compiled(t, was)
	for range times {
		zones = w.edit(zones)
		now := w.farm(zones)
		before, old := table, was
		fresh := compiled(t, now)
		if table, was = table.Update(was, now), now; table == nil {
			table = fresh
			continue
		}
		followed++
		alike(t, table, fresh, zones)
		if w.random.IntN(5) == 0 { // the previous table answers as before
			alike(t, before, compiled(t, old), old.Zones)
		}
	}
	return followed
}

// A table after many updates answers like a compiled one.
func TestIncrementalTableAnswersLikeACompiledOne(t *testing.T) {
	followed, all := 0, 0
	rounds := 8
	if testing.Short() || raced {
		rounds = 3
	}
	for seed := range uint64(rounds) {
		w := &world{random: rand.New(rand.NewPCG(seed, 1)), runs: map[string]string{}, packed: seed%2 == 0}
		followed += w.follow(t, 20)
		all += 20
	}
	if t.Logf("%d of %d tables followed", followed, all); followed < all/3 {
		t.Errorf("%d of %d tables followed the one before", followed, all)
	}
}

// large returns a farm with one zone of that many records.
func large(records int) *farm.GSLB {
	z := farm.Zone{Name: "example", Serial: 1}
	for i := range records {
		z.Records = append(z.Records, farm.Record{ID: uint32(i + 1), Name: fmt.Sprint("h", i), Type: "A", Data: "192.0.2.1"})
	}
	return &farm.GSLB{Zones: []farm.Zone{packed(z)}}
}

// packed returns a zone with its records packed.
func packed(z farm.Zone) farm.Zone {
	for list := range slices.Chunk(z.Records, farm.PackedRun) {
		z.Packed = append(z.Packed, string(farm.AppendPacked(nil, list)))
	}
	z.Records = nil
	return z
}

// with returns a farm with one more record and a higher serial.
func with(g *farm.GSLB, r farm.Record) *farm.GSLB {
	next := &farm.GSLB{Zones: slices.Clone(g.Zones)}
	z := &next.Zones[0]
	z.Packed = append(slices.Clone(z.Packed), string(farm.AppendPacked(nil, []farm.Record{r})))
	z.Serial++
	return next
}

// Update succeeds until the spare memory is full or too many names change at once.
func TestIncrementalTablesEndWhenMemoryIsFull(t *testing.T) {
	g := large(20)
	table, followed := compiled(t, g), 0
	for range 10_000 {
		followed++
		next := with(g, farm.Record{ID: 1 << 20, Name: fmt.Sprint("n", followed), Type: "A", Data: "192.0.2.2"})
		before := table
		if table = table.Update(g, next); table == nil {
			if table = before.Update(g, next); table != nil {
				t.Error("it followed the second time")
			}
			break
		}
		if before.Update(g, next) != nil {
			t.Fatal("two tables follow the same one: they would have the same memory")
		}
		g = next
		if name := fmt.Appendf(nil, "%cn%d\x07example\x00", 1+len(fmt.Sprint(followed)), followed); followed%50 == 0 {
			if msg, _ := ask(table).answer(name, wire.TypeA, false); !bytes.Contains(msg, []byte{192, 0, 2, 2}) {
				t.Fatalf("%q: %x", name, msg)
			}
		}
	}
	if table != nil || followed < 100 {
		t.Errorf("%d tables followed, and the memory is full: %t", followed, table == nil)
	}
	few := large(10)
	if compiled(t, few).Update(few, large(10_000)) != nil {
		t.Error("an update was made from a table of many other names")
	}
}

// Looking up a changed name that other records refer to does not allocate.
func TestIncrementalTableLookupAllocatesNothing(t *testing.T) {
	g := large(200)
	z := &g.Zones[0]
	z.Packed = append(z.Packed, packed(farm.Zone{Records: []farm.Record{{ID: 1001, Name: "mail", Type: "MX", Data: "1 h7"}, {ID: 1002, Name: "*.w", Type: "A", Data: "192.0.2.3"}}}).Packed...)
	table := compiled(t, g).Update(g, with(g, farm.Record{ID: 2000, Name: "h7", Type: "A", Data: "192.0.2.9"}))
	if table == nil {
		t.Fatal("it does not follow")
	}
	k := ask(table)
	k.a.Trail = nil
	for _, c := range []struct {
		name string
		kind uint16
		want []byte
	}{{"\x04mail\x07example\x00", wire.TypeMX, []byte{192, 0, 2, 9}}, {"\x01x\x01w\x07example\x00", wire.TypeA, []byte{192, 0, 2, 3}}, {"\x02no\x07example\x00", wire.TypeA, []byte{0, 0, 0, 2, 0, 0}}} {
		name := []byte(c.name)
		if msg, _ := k.answer(name, c.kind, false); !bytes.Contains(msg, c.want) {
			t.Errorf("%q: %x", name, msg)
		}
		if n := testing.AllocsPerRun(50, func() { k.answer(name, c.kind, false) }); n > 0 && !raced {
			t.Errorf("%q: %v allocations, want none", name, n)
		}
	}
}

// BenchmarkUpdate measures adding one record to a zone of a million.
func BenchmarkUpdate(b *testing.B) {
	g := large(1_000_000)
	table, err := zone.Compile(g)
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		n++
		next := with(g, farm.Record{ID: 1 << 21, Name: fmt.Sprint("n", n), Type: "A", Data: "192.0.2.2"})
		if table = table.Update(g, next); table == nil {
			b.Fatal("it does not follow")
		}
		g = next
	}
}

// FuzzUpdate derives random changes from a seed.
func FuzzUpdate(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(seed, seed%2 == 0)
	}
	f.Fuzz(func(t *testing.T, seed uint64, packed bool) {
		w := &world{random: rand.New(rand.NewPCG(seed, 2)), runs: map[string]string{}, packed: packed}
		w.follow(t, 8)
	})
}

// Serials are compared by RFC 1982: the successor of the highest is 1.
func TestSOASerialsAreComparedByRFC1982(t *testing.T) {
	for _, c := range []struct{ zone, record, want uint32 }{
		{5, 4, 5}, {5, 6, 6}, {5, 4294967290, 5}, {4294967290, 5, 5}, {4294967295, 4294967294, 4294967295},
		{0, 7, 7}, {0, 4294967290, 4294967290},
	} {
		g := large(20)
		z := &g.Zones[0]
		z.Serial = c.zone
		soa := fmt.Sprintf("ns1 hostmaster %d 3600 600 604800 300", c.record)
		list := []farm.Record{{ID: 2001, Name: "@", Type: "SOA", Data: soa}}
		z.Packed = append(z.Packed, packed(farm.Zone{Records: list}).Packed...)
		if got := compiled(t, g).Zones()[0].Serial; got != c.want {
			t.Errorf("zone %d, record %d: %d, want %d", c.zone, c.record, got, c.want)
		}
	}
	g := large(20)
	g.Zones[0].Serial = 4294967295
	table := compiled(t, g)
	next := with(g, farm.Record{ID: 1 << 20, Name: "n", Type: "A", Data: "192.0.2.2"})
	next.Zones[0].Serial = 1
	after := table.Update(g, next)
	if after == nil || after.Zones()[0].Serial != 1 {
		t.Fatalf("the successor of the highest serial is %+v", after)
	}
	if got := after.Update(next, g); got != nil {
		t.Errorf("an older serial is taken: %+v", got.Zones())
	}
}
