package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/fxamacker/cbor/v2"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/shm"
)

const (
	// maxDepth is the depth of a configuration: config, farms, farm, settings, services,
	// service, backends, backend, and the lists of a backend.
	maxDepth = 9
	// maxElements bounds the elements of all arrays together, so that a small body cannot
	// claim memory for millions of farms. A configuration that uses every ID has about
	// 70,000. The remainder allows for services that only redirect. Another element is
	// allowed per recordSize bytes, the minimum size of a record. maxList is the maximum
	// number of records in a zone.
	maxElements = 1 << 18
	recordSize  = 20
	maxList     = 1 << 21
	// maxNames exceeds the number of fields of every struct in the configuration.
	maxNames = 64
)

var decoding = func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
		// Engines do not require valid UTF-8, so an invalid byte in the store must not
		// prevent a reload.
		UTF8:             cbor.UTF8DecodeInvalid,
		MaxNestedLevels:  maxDepth,
		MaxArrayElements: maxList,
		MaxMapPairs:      maxNames,
	}.DecMode()
	if err != nil {
		panic(err) // at start-up; the options are constant
	}
	return mode
}()

// Decode returns the generation and the configuration in b. It does not keep or change b.
// It verifies the encoding; Check verifies the contents. The errors are ErrTruncated,
// ErrMagic, ErrLayout, ErrChecksum and ErrBody. No input causes a panic or takes more
// memory than a small multiple of the largest configuration.
func Decode(b []byte) (generation uint64, cfg *farm.Config, err error) {
	return new(Reader).decode(b)
}

// Reader decodes successive snapshots. A farm whose bytes did not change shares its
// settings in both results, so callers can detect changes by farm.Farm.Same.
// Callers must not modify the results. The zero value has no previous snapshot. Reader is
// not safe for concurrent use.
type Reader struct {
	last   *read // the base for the next snapshot, nil for none
	census census
}

// read is a decoded snapshot.
type read struct {
	farms      []*entry
	rest       body // without farms
	restDigest digest
	sum        digest
}

// config returns the configuration of the snapshot.
func (r *read) config() *farm.Config {
	cfg := &farm.Config{Farms: make([]farm.Farm, len(r.farms)), Certificates: r.rest.Certificates, Authorities: r.rest.Authorities, Challenges: r.rest.Challenges}
	for i, e := range r.farms {
		cfg.Farms[i] = e.farm
	}
	return cfg
}

// body is a farm.Config whose farms are not decoded yet.
type body struct {
	Farms        []raw              `json:"farms"`
	Certificates []farm.Certificate `json:"certificates,omitempty"`
	Authorities  []farm.Authority   `json:"authorities,omitempty"`
	Challenges   []farm.Challenge   `json:"challenges,omitempty"`
}

// raw is an encoded part of the body. It shares memory with the body.
type raw []byte

// UnmarshalCBOR implements cbor.Unmarshaler.
func (r *raw) UnmarshalCBOR(b []byte) error {
	*r = b
	return nil
}

func (r *Reader) decode(b []byte) (generation uint64, cfg *farm.Config, err error) {
	content, err := verify(b)
	if err != nil {
		return 0, nil, err
	}
	generation = binary.LittleEndian.Uint64(b[16:])
	var next *read
	switch kind := binary.LittleEndian.Uint32(b[kindAt:]); kind {
	case kindWhole:
		cfg, next, err = r.whole(content)
	case kindFollows:
		if next, err = r.follow(content); err == nil {
			cfg = next.config()
		}
	default:
		err = fmt.Errorf("%w: it is of kind %d", ErrBody, kind)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("generation %d: %w", generation, err)
	}
	r.last = next
	return generation, cfg, nil
}

// whole decodes the body of a whole snapshot.
func (r *Reader) whole(content []byte) (*farm.Config, *read, error) {
	fail := func(err error) (*farm.Config, *read, error) { return nil, nil, fmt.Errorf("%w: %w", ErrBody, err) }
	if len(content) == 0 {
		return fail(io.EOF)
	}
	// Unmarshal refuses a malformed body before it decodes anything. Counts of elements in
	// such a body may therefore be wrong here.
	if major := content[0] >> 5; major != 5 { // null would decode to "no farms"
		return fail(fmt.Errorf("it is no map but CBOR type %d", major))
	}
	next := &read{}
	farms, rest, n := split(content)
	if err := (&limit{elements: n, size: len(content)}).check(); err != nil {
		return nil, nil, err
	}
	if err := decoding.Unmarshal(rest, &next.rest); err != nil {
		return fail(err)
	}
	if farms == nil {
		farms = next.rest.Farms
	}
	none := farms == nil
	next.rest.Farms, next.farms = nil, make([]*entry, len(farms))
	known, records := r.known(), limit{size: len(content)}
	for i, b := range farms {
		if len(known) > 0 {
			if next.farms[i] = known[sha256.Sum256(b)]; next.farms[i] != nil {
				continue
			}
		}
		var err error
		if next.farms[i], err = decodeFarm(b); err != nil {
			return nil, nil, err
		}
		if same := known[next.farms[i].digest]; same != nil {
			next.farms[i] = same
		}
		if err := records.add(next.farms[i]); err != nil {
			return nil, nil, err
		}
	}
	cfg := next.config()
	if none {
		cfg.Farms = nil
	}
	if len(farms) > 0 && len(rest) > farmsAt {
		next.restDigest = sha256.Sum256(rest[farmsAt+1:])
	}
	next.sum = sumOf(next.restDigest, next.farms)
	return cfg, next, nil
}

// known returns the farms of the last snapshot by digest.
func (r *Reader) known() map[digest]*entry {
	if r.last == nil {
		return nil
	}
	known := make(map[digest]*entry, len(r.last.farms))
	for _, e := range r.last.farms {
		known[e.digest] = e
	}
	return known
}

// decodeFarm decodes a complete farm.
func decodeFarm(b raw) (*entry, error) {
	e, err := decodeEntry(b)
	switch {
	case err != nil:
	case !hasPacked(&e.farm):
		e.digest = sha256.Sum256(b)
	default:
		if err = e.identify(); err != nil {
			err = fmt.Errorf("%w: %w", ErrBody, err)
		}
	}
	return e, err
}

// decodeHead decodes a farm whose packed records may be replaced by digests.
func decodeHead(b raw) (*entry, error) {
	e, err := decodeEntry(b)
	if err == nil {
		e.digest = sha256.Sum256(b)
	}
	return e, err
}

// decodeEntry decodes a farm and does not set its digest.
func decodeEntry(b raw) (*entry, error) {
	e := &entry{size: len(b), elements: elements(b)}
	if err := (&limit{elements: e.elements, size: e.size}).check(); err != nil {
		return nil, err
	}
	if err := decoding.Unmarshal(b, &e.farm); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBody, err)
	}
	return e, nil
}

// limit counts the list elements, bytes and packed records of farms and bounds them.
type limit struct {
	elements uint64
	size     int
	records  uint64
}

// add adds farms. It returns an error if a limit is exceeded.
func (l *limit) add(farms ...*entry) error {
	for _, e := range farms {
		l.elements, l.size, l.records = l.elements+1+e.elements, l.size+e.size, l.records+e.records
	}
	return l.check()
}

func (l *limit) check() error {
	if l.records > maxPacked {
		return fmt.Errorf("%w: %d packed records, at most %d are possible", ErrBody, l.records, maxPacked)
	}
	if most := maxElements + uint64(l.size)/recordSize; l.elements > most {
		return fmt.Errorf("%w: %d list elements, at most %d are allowed in %d bytes", ErrBody, l.elements, most, l.size)
	}
	return nil
}

// verify checks the header and returns the body. Each check relies only on the fields
// checked before it.
func verify(b []byte) (body []byte, err error) {
	// Foreign data gets ErrMagic even if it is short.
	if n := min(len(b), len(magic)); string(b[:n]) != magic[:n] {
		return nil, fmt.Errorf("%w: it starts with %q, not with %q", ErrMagic, b[:n], magic)
	}
	if len(b) < headerSize {
		return nil, fmt.Errorf("%w: %d bytes, the header alone has %d", ErrTruncated, len(b), headerSize)
	}
	if got := binary.LittleEndian.Uint32(b[8:]); got != Layout {
		return nil, fmt.Errorf("%w: it has layout version %d, this program reads version %d: run the same release on both sides", ErrLayout, got, Layout)
	}
	length := binary.LittleEndian.Uint64(b[24:])
	if length > maxBody { // before the checksum reads the body
		return nil, fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrBody, length, maxBody)
	}
	if have := uint64(len(b) - headerSize); have != length {
		return nil, fmt.Errorf("%w: the header announces a body of %d bytes, there are %d", ErrTruncated, length, have)
	}
	if sum := checksum(b); string(sum[:]) != string(b[sumAt:headerSize]) {
		return nil, ErrChecksum
	}
	return b[headerSize:], nil
}

// Load maps the sealed memory of f, decodes it and checks the configuration. The caller
// still owns f. The errors are shm.ErrNotSealed, the errors of Decode, and ErrConfig.
func Load(f *os.File) (generation uint64, cfg *farm.Config, err error) {
	return new(Reader).Load(f)
}

// Load is like the function Load. It also accepts snapshots that follow the last loaded
// one, and returns ErrBase if a snapshot has another base.
func (r *Reader) Load(f *os.File) (generation uint64, cfg *farm.Config, err error) {
	m, err := shm.MapSealed(f)
	if err != nil {
		return 0, nil, fmt.Errorf("load snapshot: %w", err)
	}
	defer m.Close()
	before := r.last
	generation, cfg, err = r.decode(m.Bytes())
	if err != nil {
		return 0, nil, fmt.Errorf("load snapshot: %w", err)
	}
	if err := r.census.check(cfg, r.last.farms); err != nil {
		r.last = before
		return 0, nil, fmt.Errorf("load snapshot: generation %d: %w", generation, err)
	}
	return generation, cfg, nil
}

// elements returns the total number of elements of all arrays in b. b must be one
// well-formed CBOR item without indefinite lengths (RFC 8949 §3). The library bounds each
// array separately. Memory depends on the sum, because one byte can encode a whole struct.
func elements(b []byte) (n uint64) {
	for len(b) > 0 {
		major, arg, rest := head(b)
		switch major {
		case 2, 3: // byte and text strings of arg bytes
			rest = rest[min(arg, uint64(len(rest))):]
		case 4: // arg elements follow, each with its own head
			n += arg
		}
		b = rest
	}
	return n
}

// split separates the farms from a body, so that farms with known bytes need no decoding.
// rest is the body with an empty list of farms. If content is malformed or has no farms,
// farms is nil and rest is content. n is the number of elements in content.
func split(content []byte) (farms []raw, rest []byte, n uint64) {
	if len(content) <= farmsAt || string(content[1:farmsAt]) != farmsName {
		return nil, content, elements(content)
	}
	major, count, b := head(content[farmsAt:])
	if major != 4 || count == 0 || count > min(maxElements, uint64(len(b))) {
		return nil, content, elements(content)
	}
	farms, n = make([]raw, 0, count), count
	for range count {
		size, within := itemSize(b)
		if size == 0 {
			return nil, content, elements(content)
		}
		farms, b = append(farms, raw(b[:size])), b[size:]
		n += within
	}
	n += elements(b)
	rest = append(append(append(make([]byte, 0, farmsAt+1+len(b)), content[:farmsAt]...), 0x80), b...)
	return farms, rest, n
}

// itemSize returns the length of the first item of b and the number of elements of its
// arrays. It returns 0 if the item is incomplete, or contains tags or indefinite lengths,
// which a body never has.
func itemSize(b []byte) (size int, n uint64) {
	whole := len(b)
	for items := uint64(1); items > 0; items-- {
		if len(b) == 0 || b[0]&0x1f > 27 {
			return 0, 0
		}
		major, arg, rest := head(b)
		switch {
		case rest == nil || major == 6 || (major == 2 || major == 3) && arg > uint64(len(rest)):
			return 0, 0
		case major == 2 || major == 3:
			rest = rest[arg:]
		case major == 4:
			items += min(arg, uint64(whole)) // a count that is too large fails at the end of b
			n += arg
		case major == 5:
			items += 2 * min(arg, uint64(whole))
		}
		b = rest
	}
	return whole - len(b), n
}

// head decodes the item head at the start of b, which must not be empty. rest is nil if
// the head is malformed.
func head(b []byte) (major byte, arg uint64, rest []byte) {
	major, low := b[0]>>5, b[0]&0x1f
	b = b[1:]
	if low < 24 {
		return major, uint64(low), b
	}
	size := 1 << min(low-24, 3) // 24 … 27: 1, 2, 4 or 8 bytes follow
	if len(b) < size {          // malformed
		return major, 0, nil
	}
	var wide [8]byte
	copy(wide[8-size:], b)
	return major, binary.BigEndian.Uint64(wide[:]), b[size:]
}
