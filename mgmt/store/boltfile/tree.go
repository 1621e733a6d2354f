package boltfile

import (
	"bytes"
	"fmt"
)

// Tree is the readable content of one transaction.
type Tree struct {
	// Tx is the number of the transaction, 0 if no head has it.
	Tx      uint64
	Buckets map[string]*Bucket

	file  *File
	pages uint64
	used  []uint64 // one bit per page
	fault error    // the first one
}

// Bucket is the readable content of a bucket.
type Bucket struct {
	Sequence uint64
	Records  []Record // sorted by key unless Broken
	// Broken means that records may be missing or have wrong keys.
	Broken bool
}

// Record is a key with its value; both are slices of the file.
type Record struct{ Key, Value []byte }

// maxDepth is far above the depth of any file.
const maxDepth = 16

// Read returns the buckets of a transaction.
func (f *File) Read(r Root) *Tree {
	pages := min(r.pages, uint64(len(f.b))/f.pageSize+1)
	t := &Tree{Tx: r.Tx, Buckets: map[string]*Bucket{}, file: f, pages: pages, used: make([]uint64, pages/64+1)}
	top := &Bucket{}
	t.walk(top, r.page, nil, nil, maxDepth, func(e element) {
		if e.bucket {
			t.bucket(e)
		} else {
			t.broken(top, "%q is no bucket", e.key)
		}
	})
	return t
}

// Fault returns the first fault of the tree, or nil.
func (t *Tree) Fault() error { return t.fault }

// broken records a fault of a bucket.
func (t *Tree) broken(b *Bucket, format string, args ...any) {
	b.Broken = true
	if t.fault == nil {
		t.fault = fmt.Errorf(format, args...)
	}
}

// use marks pages as in use; it returns false if one is marked already or does not exist.
func (t *Tree) use(id, n uint64) bool {
	if id < 2 || n > t.pages || id > t.pages-n {
		return false
	}
	for k := id; k < id+n; k++ {
		if t.used[k/64]&(1<<(k%64)) != 0 {
			return false
		}
	}
	for k := id; k < id+n; k++ {
		t.used[k/64] |= 1 << (k % 64)
	}
	return true
}

func (t *Tree) bucket(e element) {
	b := &Bucket{}
	t.Buckets[string(e.key)] = b
	if len(e.value) < 16 {
		t.broken(b, "bucket %q is cut off", e.key)
		return
	}
	b.Sequence = order.Uint64(e.value[8:])
	record := func(e element) {
		if e.bucket {
			t.broken(b, "%q has a bucket", e.key)
		}
		b.Records = append(b.Records, Record{e.key, e.value})
	}
	if root := order.Uint64(e.value); root != 0 {
		if len(e.value) != 16 {
			t.broken(b, "bucket %q is in two places", e.key)
		}
		t.walk(b, root, nil, nil, maxDepth, record)
		return
	}
	p := parse(e.value[16:], 0, true)
	if p.fault != "" || !p.leaf {
		t.broken(b, "bucket %q: %s", e.key, p.fault)
	}
	t.elements(b, p, nil, nil, record)
}

// walk reads a page and those below it. Their keys are in [low, high); nil means no bound.
func (t *Tree) walk(b *Bucket, id uint64, low, high []byte, depth int, do func(element)) {
	raw := t.file.at(id)
	if raw == nil || depth == 0 || id < 2 {
		t.broken(b, "there is no page %d", id)
		return
	}
	p := parse(raw, id, false)
	if p.fault != "" {
		t.broken(b, "page %d: %s", id, p.fault)
	}
	span := (p.end + t.file.pageSize - 1) / t.file.pageSize
	said := uint64(order.Uint32(raw[12:])) + 1
	switch {
	case said < span:
		t.broken(b, "page %d: it has %d bytes", id, p.end)
	case p.fault == "":
		span = said
	}
	if !t.use(id, span) {
		t.broken(b, "page %d is in use twice", id)
		if !t.use(id, 1) { // it was read already, perhaps by a page above it
			return
		}
	}
	if p.leaf {
		t.elements(b, p, low, high, do)
		return
	}
	for i, e := range p.elements {
		if e.key == nil {
			continue
		}
		below := high
		if i+1 < len(p.elements) && p.elements[i+1].key != nil {
			below = p.elements[i+1].key
		}
		t.walk(b, e.child, e.key, below, depth-1, do)
	}
}

// elements calls do for the elements of a leaf and checks their order.
func (t *Tree) elements(b *Bucket, p page, low, high []byte, do func(element)) {
	before := low
	for i, e := range p.elements {
		if e.key == nil {
			continue
		}
		if c := bytes.Compare(e.key, before); before != nil && (c < 0 || c == 0 && i > 0) || high != nil && bytes.Compare(e.key, high) >= 0 {
			t.broken(b, "key %x is out of order", e.key)
		}
		before = e.key
		do(e)
	}
}
