package snmp

import (
	"slices"
	"time"

	"github.com/posteo/go-agentx/pdu"
	"github.com/posteo/go-agentx/value"
)

// Data is the exposed data. Farms and Backends are sorted by ID, the row number.
type Data struct {
	Version  string
	Revision uint64
	Roles    string
	UpTime   time.Duration
	Farms    []Farm
	Backends []Backend
}

// Farm is a row of the table of farms.
type Farm struct {
	ID                                uint32
	Name, Profile, Status, VIP, Ports string
	Open                              uint64 // current connections
	Connections, Requests             uint64
	BytesIn, BytesOut, Errors         uint64
}

// Backend is a row of the table of backends.
type Backend struct {
	ID                             uint32
	Farm, Service, Address, Status string
	Number, Weight                 uint32
	Open                           uint64
	Connections, Requests          uint64
	BytesIn, BytesOut, Errors      uint64
}

// root is the OID of all objects: below netSnmpPlaypen, which is for experiments, until
// Sluice has an enterprise number.
var root = value.OID{1, 3, 6, 1, 4, 1, 8072, 9999, 9999, 83}

// varbind is one object with its value.
type varbind struct {
	oid  value.OID
	kind pdu.VariableType
	is   any
}

func text(s string) varbind { return varbind{kind: pdu.VariableTypeOctetString, is: s} }
func gauge(n uint64) varbind {
	return varbind{kind: pdu.VariableTypeGauge32, is: uint32(min(n, 1<<32-1))}
}
func counter(n uint64) varbind { return varbind{kind: pdu.VariableTypeCounter64, is: n} }

// table is a group of objects: columns from first on, each with the same rows.
type table struct {
	prefix  value.OID
	first   uint32
	columns int
	rows    []uint32
	at      func(column int, row int) varbind // counted from 0
}

// tables returns the tables of the data in OID order.
func tables(d *Data) []table {
	scalars := []varbind{text(d.Version), gauge(d.Revision), text(d.Roles), {kind: pdu.VariableTypeTimeTicks, is: d.UpTime}}
	farms, backends := make([]uint32, len(d.Farms)), make([]uint32, len(d.Backends))
	for i := range d.Farms {
		farms[i] = d.Farms[i].ID
	}
	for i := range d.Backends {
		backends[i] = d.Backends[i].ID
	}
	return []table{
		{below(1), 1, len(scalars), []uint32{0}, func(column, _ int) varbind { return scalars[column] }},
		{below(2, 1, 1), 2, 11, farms, func(column, row int) varbind { return farmColumn(&d.Farms[row], column) }},
		{below(3, 1, 1), 2, 12, backends, func(column, row int) varbind { return backendColumn(&d.Backends[row], column) }},
	}
}

func below(ids ...uint32) value.OID { return slices.Concat(root, value.OID(ids)) }

func farmColumn(f *Farm, column int) varbind {
	return [...]varbind{
		text(f.Name), text(f.Profile), text(f.Status), text(f.VIP), text(f.Ports),
		gauge(f.Open), counter(f.Connections), counter(f.Requests), counter(f.BytesIn), counter(f.BytesOut), counter(f.Errors),
	}[column]
}

func backendColumn(b *Backend, column int) varbind {
	return [...]varbind{
		text(b.Farm), text(b.Service), gauge(uint64(b.Number)), text(b.Address), text(b.Status), gauge(uint64(b.Weight)),
		gauge(b.Open), counter(b.Connections), counter(b.Requests), counter(b.BytesIn), counter(b.BytesOut), counter(b.Errors),
	}[column]
}

// oid returns the OID of a value of the table.
func (t *table) oid(column, row int) value.OID {
	return slices.Concat(t.prefix, value.OID{t.first + uint32(column), t.rows[row]})
}

// get returns the value with the OID.
func get(all []table, oid value.OID) (varbind, bool) {
	v, found := next(all, oid, true, nil)
	return v, found && slices.Equal(v.oid, oid)
}

// next returns the first value after an OID, or at it if include is true, and before to
// unless that is empty. It does a binary search in the rows of a column.
func next(all []table, from value.OID, include bool, to value.OID) (varbind, bool) {
	for i := range all {
		t := &all[i]
		for column := range t.columns {
			row, _ := slices.BinarySearchFunc(t.rows, from, func(id uint32, from value.OID) int {
				oid := slices.Concat(t.prefix, value.OID{t.first + uint32(column), id})
				if c := slices.Compare(oid, from); c != 0 || include {
					return c
				}
				return -1
			})
			if row == len(t.rows) {
				continue
			}
			v := t.at(column, row)
			v.oid = t.oid(column, row)
			return v, len(to) == 0 || slices.Compare(v.oid, to) < 0
		}
	}
	return varbind{}, false
}
