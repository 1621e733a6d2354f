package nft

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// addRule adds a rule. It understands the statements that chains of farms have most often:
// the choice of a backend, sessions, flows and verdicts. The result equals that of nft.
func (e *encoder) addRule(id ID, rule string) error {
	r := &ruleEncoder{encoder: e, table: id.Table, checked: map[string]bool{}}
	r.words = strings.Fields(strings.ReplaceAll(rule, ",", " , "))
	for len(r.words) > 0 {
		if !r.statement() {
			return errIndirect
		}
	}
	var list []byte
	for _, x := range r.expressions {
		b, err := expr.Marshal(families[id.Family], x)
		if err != nil {
			return errIndirect
		}
		list = append(list, nested(unix.NFTA_LIST_ELEM, b)...)
	}
	if len(list) > maxList {
		return errIndirect
	}
	e.message(unix.NFT_MSG_NEWRULE, unix.NLM_F_CREATE|unix.NLM_F_APPEND, id.Table,
		attribute(unix.NFTA_RULE_TABLE, text(id.Table.Name)), attribute(unix.NFTA_RULE_CHAIN, text(id.Name)),
		nested(unix.NFTA_RULE_EXPRESSIONS, list))
	return nil
}

// ruleEncoder parses a rule into expressions. Values are in register 1, as with nft.
type ruleEncoder struct {
	*encoder
	table       Table
	words       []string // that are left
	expressions []expr.Any
	checked     map[string]bool // protocols that the rule has tested
}

func (r *ruleEncoder) add(x ...expr.Any) { r.expressions = append(r.expressions, x...) }

// take removes these words from the beginning, if they are there.
func (r *ruleEncoder) take(words ...string) bool {
	if len(r.words) < len(words) {
		return false
	}
	for i, w := range words {
		if r.words[i] != w {
			return false
		}
	}
	r.words = r.words[len(words):]
	return true
}

// next removes one word.
func (r *ruleEncoder) next() string {
	if len(r.words) == 0 {
		return ""
	}
	w := r.words[0]
	r.words = r.words[1:]
	return w
}

// named removes the name of a set, if it is there.
func (r *ruleEncoder) named() (string, bool) {
	if len(r.words) == 0 {
		return "", false
	}
	name, is := strings.CutPrefix(r.words[0], "@")
	if is {
		r.next()
	}
	return name, is && name != ""
}

// number removes a number of 32 bits.
func (r *ruleEncoder) number() (uint32, bool) {
	n, err := strconv.ParseUint(r.next(), 0, 32)
	return uint32(n), err == nil
}

func (r *ruleEncoder) statement() bool {
	switch {
	case r.take("goto"):
		return r.verdict(expr.VerdictGoto)
	case r.take("jump"):
		return r.verdict(expr.VerdictJump)
	case r.take("return"):
		r.add(&expr.Verdict{Kind: expr.VerdictReturn})
	case r.take("drop"):
		r.add(&expr.Verdict{Kind: expr.VerdictDrop})
	case r.take("tcp", "flags", "&", "syn", "==", "0"):
		r.check("tcp")
		r.add(&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 13, Len: 1},
			&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 1, Mask: []byte{2}, Xor: []byte{0}},
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{0}})
	case r.take("ct", "mark", "set"):
		if !r.value() {
			return false
		}
		r.add(&expr.Ct{Key: expr.CtKeyMARK, Register: 1, SourceRegister: true})
	case r.take("meta", "mark", "set"):
		if !r.value() {
			return false
		}
		r.add(&expr.Meta{Key: expr.MetaKeyMARK, Register: 1, SourceRegister: true})
	case r.take("add"):
		return r.learn(unix.NFT_DYNSET_OP_ADD)
	case r.take("update"):
		return r.learn(unix.NFT_DYNSET_OP_UPDATE)
	case r.take("delete"):
		return r.learn(dynsetDelete)
	default:
		return r.match()
	}
	return true
}

// dynsetDelete is NFT_DYNSET_OP_DELETE, which x/sys lacks.
const dynsetDelete = 2

func (r *ruleEncoder) verdict(kind expr.VerdictKind) bool {
	chain := r.next()
	r.add(&expr.Verdict{Kind: kind, Chain: chain})
	return chain != "" && !strings.ContainsAny(chain, "{}@,:")
}

// match parses the lookup of a key: KEY @set, KEY != @set, KEY { … }, KEY vmap @map.
func (r *ruleEncoder) match() bool {
	key := r.key()
	if key == nil {
		return false
	}
	r.load(key, 1)
	if r.take("vmap") {
		name, ok := r.named()
		r.add(&expr.Lookup{SourceRegister: 1, IsDestRegSet: true, SetName: name})
		return ok
	}
	if r.take("{") {
		marks, _, ok := r.list(false)
		if !ok || !key.isMark() {
			return false
		}
		if len(marks) == 1 {
			r.add(&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: marks[0]})
			return true
		}
		name, id := r.anonymous(r.table, typeMark, marks, nil)
		r.add(&expr.Lookup{SourceRegister: 1, SetName: name, SetID: id})
		return true
	}
	invert := r.take("!=")
	name, ok := r.named()
	r.add(&expr.Lookup{SourceRegister: 1, SetName: name, Invert: invert})
	return ok
}

// value parses a value into register 1: a constant, a number from a generator, or the result
// of a map.
func (r *ruleEncoder) value() bool {
	if len(r.words) > 0 {
		if n, err := strconv.ParseUint(r.words[0], 0, 32); err == nil {
			r.next()
			r.add(&expr.Immediate{Register: 1, Data: native32(uint32(n))})
			return true
		}
	}
	if generated, ok := r.generator(); generated {
		return ok && (!r.take("map") || r.mapped(typeInteger))
	}
	key := r.key()
	if key == nil || !r.take("map") {
		return false
	}
	r.load(key, 1)
	return (key.isMark() || strings.HasPrefix(r.peek(), "@")) && r.mapped(typeMark)
}

func (r *ruleEncoder) peek() string {
	if len(r.words) == 0 {
		return ""
	}
	return r.words[0]
}

// mapped looks register 1 up in a map.
func (r *ruleEncoder) mapped(keyType uint32) bool {
	if name, is := r.named(); is {
		r.add(&expr.Lookup{SourceRegister: 1, DestRegister: 1, IsDestRegSet: true, SetName: name})
		return true
	}
	if !r.take("{") {
		return false
	}
	keys, values, ok := r.list(true)
	if !ok {
		return false
	}
	name, id := r.anonymous(r.table, keyType, keys, values)
	r.add(&expr.Lookup{SourceRegister: 1, DestRegister: 1, IsDestRegSet: true, SetName: name, SetID: id})
	return true
}

// list parses numbers until a closing brace, in pairs for a map.
func (r *ruleEncoder) list(pairs bool) (keys, values [][]byte, ok bool) {
	for {
		k, ok := r.number()
		if !ok {
			return nil, nil, false
		}
		keys = append(keys, native32(k))
		if pairs {
			ok = r.take(":")
			v, isNumber := r.number()
			if !ok || !isNumber {
				return nil, nil, false
			}
			values = append(values, native32(v))
		}
		switch {
		case r.take("}"):
			return keys, values, true
		case !r.take(","):
			return nil, nil, false
		}
	}
}

// generator parses a number computed for a packet into register 1.
func (r *ruleEncoder) generator() (is, ok bool) {
	switch {
	case r.take("numgen", "inc", "mod"):
		n, ok := r.number()
		r.add(&expr.Numgen{Register: 1, Modulus: n, Type: unix.NFT_NG_INCREMENTAL})
		return true, ok
	case r.take("numgen", "random", "mod"):
		n, ok := r.number()
		r.add(&expr.Numgen{Register: 1, Modulus: n, Type: unix.NFT_NG_RANDOM})
		return true, ok
	case r.take("symhash", "mod"):
		n, ok := r.number()
		r.add(&expr.Hash{DestRegister: 1, Modulus: n, Type: expr.HashTypeSym})
		return true, ok
	case r.take("jhash"):
		return true, r.hash()
	}
	return false, true
}

// hash parses KEY mod N seed S.
func (r *ruleEncoder) hash() bool {
	key := r.key()
	if key == nil || !r.take("mod") {
		return false
	}
	n, isNumber := r.number()
	if !isNumber || !r.take("seed") {
		return false
	}
	seed, ok := r.number()
	length := r.load(key, 2)
	r.add(&expr.Hash{SourceRegister: 2, DestRegister: 1, Length: length, Modulus: n, Seed: seed, Type: expr.HashTypeJenkins})
	return ok
}

// learn parses a statement that changes a set: @set { KEY [timeout T] [: FIELD] }.
func (r *ruleEncoder) learn(operation uint32) bool {
	name, ok := r.named()
	if !ok || !r.take("{") {
		return false
	}
	wide := uint32(0)
	if generated, ok := r.generator(); generated {
		if !ok {
			return false
		}
	} else {
		key := r.key()
		if key == nil {
			return false
		}
		wide = r.load(key, 1)
	}
	x := &expr.Dynset{SrcRegKey: 1, SetName: name, Operation: operation}
	if r.take("timeout") {
		d, err := time.ParseDuration(r.next())
		if err != nil {
			return false
		}
		x.Timeout = d
	}
	if r.take(":") {
		value := r.key()
		if len(value) != 1 || wide > registerSize {
			return false
		}
		r.load(value, 2)
		x.SrcRegData = 2
	}
	r.add(x)
	return r.take("}")
}
