package nft

import (
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// field is a part of a packet or of its state that a rule reads.
type field struct {
	protocol string // that the rule must test before, "" for none
	base     expr.PayloadBase
	offset   uint32
	size     uint32
	load     func(register uint32) expr.Any // nil for the packet itself
}

// fields are by their two words. Others, e.g. meta l4proto, need conversions that depend on
// the set.
var fields = map[string]field{
	"ip saddr":  {"ip", expr.PayloadBaseNetworkHeader, 12, 4, nil},
	"ip daddr":  {"ip", expr.PayloadBaseNetworkHeader, 16, 4, nil},
	"ip6 saddr": {"ip6", expr.PayloadBaseNetworkHeader, 8, 16, nil},
	"ip6 daddr": {"ip6", expr.PayloadBaseNetworkHeader, 24, 16, nil},
	"th sport":  {"", expr.PayloadBaseTransportHeader, 0, 2, nil},
	"th dport":  {"", expr.PayloadBaseTransportHeader, 2, 2, nil},
	"ct mark":   {size: 4, load: func(to uint32) expr.Any { return &expr.Ct{Key: expr.CtKeyMARK, Register: to} }},
	"meta mark": {size: 4, load: func(to uint32) expr.Any { return &expr.Meta{Key: expr.MetaKeyMARK, Register: to} }},
}

// key is a concatenation of fields.
type key []field

func (k key) isMark() bool { return len(k) == 1 && k[0].load != nil }

// key parses FIELD . FIELD …, or returns nil.
func (r *ruleEncoder) key() (k key) {
	for {
		if len(r.words) < 2 {
			return nil
		}
		f, known := fields[r.words[0]+" "+r.words[1]]
		if !known {
			return nil
		}
		k, r.words = append(k, f), r.words[2:]
		if !r.take(".") {
			return k
		}
	}
}

// registerSize is the size of a register in bytes. The kernel also numbers them in parts of
// four bytes, from firstPart on.
const (
	registerSize = 16
	firstPart    = unix.NFT_REG32_00
)

// load loads the key into a register and those after it, and returns its length. Fields of a
// concatenation are padded to four bytes.
func (r *ruleEncoder) load(k key, register uint32) (length uint32) {
	for _, f := range k {
		r.check(f.protocol)
	}
	for i, f := range k {
		to := register
		if i > 0 {
			to = firstPart + (register-1)*registerSize/4 + length/4
		}
		if f.load != nil {
			r.add(f.load(to))
		} else {
			r.add(&expr.Payload{DestRegister: to, Base: f.base, Offset: f.offset, Len: f.size})
		}
		if length += f.size; len(k) > 1 {
			length = (length + 3) &^ 3
		}
	}
	return length
}

// check tests the protocol of the packet, once in a rule.
func (r *ruleEncoder) check(protocol string) {
	if protocol == "" || r.checked[protocol] {
		return
	}
	r.checked[protocol] = true
	what := expr.MetaKeyNFPROTO
	var is []byte
	switch {
	case protocol == "tcp":
		what, is = expr.MetaKeyL4PROTO, []byte{unix.IPPROTO_TCP}
	case r.table.Family == "netdev":
		what, is = expr.MetaKeyPROTOCOL, map[string][]byte{"ip": {0x08, 0x00}, "ip6": {0x86, 0xdd}}[protocol]
	default:
		is = map[string][]byte{"ip": {unix.NFPROTO_IPV4}, "ip6": {unix.NFPROTO_IPV6}}[protocol]
	}
	r.add(&expr.Meta{Key: what, Register: 1}, &expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: is})
}
