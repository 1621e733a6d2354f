package accesslog

import (
	"net"
	"strconv"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
)

// book has the names for the numbers in records, from the current configuration. For an
// object deleted meanwhile the number is shown.
type book struct {
	cfg      *farm.Config
	farms    map[uint32]*farmLog
	services map[uint32][]byte
	backends map[uint32][]byte
	classes  [][]byte // of rejections
}

// farmLog is the log of one farm. Its sink is nil if nothing is logged.
type farmLog struct {
	id     uint32
	name   []byte
	format *formatter
	sink   *sink
}

// newBook compiles a configuration. sinkOf returns the sink of a farm that logs.
func newBook(cfg *farm.Config, classes []string, c *clock, sinkOf func(f *farm.Farm) *sink) *book {
	b := &book{cfg: cfg, farms: make(map[uint32]*farmLog, len(cfg.Farms))}
	for _, name := range classes {
		b.classes = append(b.classes, []byte(name))
	}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		fl := &farmLog{id: f.ID, name: []byte(f.Name)}
		b.farms[f.ID] = fl
		fl.compile(f, c, sinkOf)
	}
	return b
}

// names collects the names of all services and backends when the first record arrives: most
// configurations are replaced before they get one.
func (b *book) names() {
	if b.backends != nil {
		return
	}
	b.services, b.backends = map[uint32][]byte{}, map[uint32][]byte{}
	for i := range b.cfg.Farms {
		b.list(&b.cfg.Farms[i])
	}
}

// compile prepares the log of a farm that has one.
func (fl *farmLog) compile(f *farm.Farm, c *clock, sinkOf func(f *farm.Farm) *sink) {
	if l, on := f.Log(); on {
		fl.format, fl.sink = newFormatter(l, c, f.KeyHeaders()...), sinkOf(f)
	}
}

// list collects the names of the services and backends of a farm.
func (b *book) list(f *farm.Farm) {
	for _, g := range f.Groups() {
		if name := g.Name(); name != "" {
			b.services[g.ID()] = []byte(name)
		}
		for _, be := range g.Backends() {
			b.backends[be.ID] = []byte(address(&be))
		}
	}
}

// address returns the address of a backend, or the name that the operator wrote if that is
// not resolved. It omits the port if it equals the port of the client's connection.
func address(b *farm.Backend) string {
	switch {
	case b.Port == 0 && b.Addr.IsValid():
		return b.Addr.String()
	case b.Port == 0:
		return b.Host
	case b.Addr.IsValid():
		return b.AddrPort().String()
	}
	return net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
}

// lookUp sets the names in a record.
func (b *book) lookUp(l *line, r *accesslog.Record) {
	b.names()
	l.Record = r
	l.service, l.backend, l.rejection = nil, nil, nil
	if fl := b.farms[r.Farm]; fl != nil {
		l.farm = fl.name
	} else {
		l.farm = numbered(r.Farm)
	}
	if r.Service != 0 {
		if l.service = b.services[r.Service]; l.service == nil {
			l.service = numbered(r.Service)
		}
	}
	if r.Backend != 0 {
		if l.backend = b.backends[r.Backend]; l.backend == nil {
			l.backend = numbered(r.Backend)
		}
	}
	if n := int(r.Rejection); n > 0 {
		if l.rejection = numbered(uint32(n)); n <= len(b.classes) {
			l.rejection = b.classes[n-1]
		}
	}
}

// numbered stands for an object without a name.
func numbered(id uint32) []byte { return strconv.AppendUint([]byte("#"), uint64(id), 10) }
