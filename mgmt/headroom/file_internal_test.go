package headroom

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// filled returns a book with several well-known backends.
func filled() *Book { return filledWith(100) }

func filledWith(samples int) *Book {
	b, r := New(), rand.New(rand.NewPCG(4, 2))
	for id := uint32(1); id < 5; id++ {
		one := &backend{key: r.Uint64(), from: loadBins, seen: begin.Add(time.Hour), anew: id%2 == 0, drift: 0.125}
		for i := range int(id) * samples {
			one.learn(Sample{Time: begin.Add(time.Duration(i) * time.Minute), Length: 5 * time.Second, Concurrency: math.Exp(5 * r.Float64()), Latency: time.Duration(1e6 * math.Exp(3*r.Float64())), Rate: 7})
		}
		one.drift = 0.125
		b.backends[id] = one
	}
	b.backends[9] = &backend{key: 3, from: loadBins, seen: begin} // without traffic
	b.changed = true
	return b
}

func encoded(t testing.TB, b *Book) []byte {
	t.Helper()
	b.changed = true
	data, ok := b.Encode()
	if !ok {
		t.Fatal("no data to encode")
	}
	return data
}

func TestBookRoundTrips(t *testing.T) {
	b := filled()
	data := encoded(t, b)
	if _, again := b.Encode(); again {
		t.Error("it is encoded again though nothing changed")
	}
	read, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if _, changed := read.Encode(); changed {
		t.Error("it is encoded again right after it was read")
	}
	if !bytes.Equal(encoded(t, read), data) {
		t.Error("it is written otherwise than it was read")
	}
	for id, was := range b.backends {
		is := read.backends[id]
		if is == nil || is.key != was.key || is.anew != was.anew || is.drift != was.drift || is.peaks != was.peaks || !reflect.DeepEqual(is.curve.cells, was.curve.cells) ||
			!is.seen.Equal(was.seen) || !is.since.Equal(was.since) || !is.curve.aged.Equal(was.curve.aged) {
			t.Errorf("backend %d: %+v, was %+v", id, is, was)
		}
	}
	if len(read.backends) != len(b.backends) {
		t.Errorf("%d backends", len(read.backends))
	}
}

// All measured values can be decoded.
func TestExtremeValuesRoundTrip(t *testing.T) {
	b, one := New(), &backend{from: loadBins, seen: begin}
	b.backends[1] = one
	for _, n := range []float64{0, 1e-30, 1e30, math.Inf(1)} {
		for _, d := range []time.Duration{0, 1, math.MaxInt64} {
			one.learn(Sample{Time: begin, Length: time.Second, Concurrency: n, Latency: d})
		}
	}
	one.peaks = [hours]peak{}
	read, err := Decode(encoded(t, b))
	if err != nil {
		t.Fatal(err)
	}
	if got := read.backends[1].curve.cells; !reflect.DeepEqual(got, one.curve.cells) || len(got) < 4 {
		t.Errorf("%v, was %v", got, one.curve.cells)
	}
}

func TestADamagedBookIsRefused(t *testing.T) {
	data := encoded(t, filled())
	for i := range data {
		damaged := bytes.Clone(data)
		damaged[i] ^= 0x10
		if _, err := Decode(damaged); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d: %v", i, err)
		}
		if _, err := Decode(data[:i]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
}

// withSum adds the headline and checksum to a body.
func withSum(body []byte) []byte {
	out := append([]byte(headline), body...)
	return binary.LittleEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
}

// Data with a valid checksum is still checked against its bounds.
func TestABookIsWithinItsBounds(t *testing.T) {
	with := func(change func(*backend)) []byte {
		one := &backend{curve: curve{cells: []cell{{at: 5 << 8, weight: 1}, {at: 6 << 8, weight: 1}}}}
		change(one)
		return one.append(nil, 1)
	}
	good := with(func(*backend) {})
	if _, err := Decode(withSum(good)); err != nil {
		t.Fatal(err)
	}
	edge := with(func(b *backend) {
		b.drift, b.peaks[1], b.curve.cells[0].at, b.curve.cells[1].at = -1, peak{hour: 1}, 0, (loadBins-1)<<8|timeBins-1
	})
	if b, err := Decode(withSum(edge)); err != nil || b.backends[1].drift != -1 {
		t.Errorf("at the edge: %v", err)
	}
	many := make([]cell, maxCells+1)
	for i := range many {
		many[i] = cell{uint16(i/100)<<8 | uint16(i%100), 1}
	}
	for name, body := range map[string][]byte{
		"number 0":        (&backend{}).append(nil, 0),
		"a high number":   (&backend{}).append(nil, 1<<16),
		"twice":           append(bytes.Clone(good), good...),
		"disorder":        with(func(b *backend) { b.curve.cells[1].at = b.curve.cells[0].at }),
		"far load":        with(func(b *backend) { b.curve.cells[1].at = loadBins << 8 }),
		"far time":        with(func(b *backend) { b.curve.cells[1].at = 6<<8 | timeBins }),
		"many cells":      with(func(b *backend) { b.curve.cells = many }),
		"no number":       with(func(b *backend) { b.curve.cells[0].weight = float32(math.NaN()) }),
		"negative":        with(func(b *backend) { b.curve.cells[0].weight = -1 }),
		"endless":         with(func(b *backend) { b.peaks[1] = peak{1, float32(math.Inf(1)), 1} }),
		"drift":           with(func(b *backend) { b.drift = 2 }),
		"something after": append(bytes.Clone(good), 1),
	} {
		if _, err := Decode(withSum(body)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	small := encoded(f, filledWith(2)) // large inputs slow down minimization
	f.Add(small[len(headline) : len(small)-sumLength])
	f.Add([]byte{})
	f.Add((&backend{}).append(nil, 7))
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := Decode(body); err == nil && !bytes.HasPrefix(body, []byte(headline)) {
			t.Error("anything is a book")
		}
		b, err := Decode(withSum(body)) // a valid checksum, to reach the rest
		if err != nil {
			return
		}
		data := encoded(t, b)
		again, err := Decode(data)
		if err != nil {
			t.Fatalf("encode after a read: %v", err)
		}
		if !bytes.Equal(encoded(t, again), data) {
			t.Error("it changes each time")
		}
		for _, one := range b.backends { // any decoded backend is usable
			e := one.curve.estimate()
			if math.IsNaN(e.Bend) || e.Bend < 0 || math.IsNaN(e.Carried) || e.State == Bent && e.Bend == 0 {
				t.Errorf("%+v", e)
			}
			one.learn(Sample{Time: begin, Length: time.Second, Concurrency: 3, Latency: time.Millisecond})
			if len(one.curve.cells) > maxCells {
				t.Errorf("%d cells", len(one.curve.cells))
			}
		}
	})
}
