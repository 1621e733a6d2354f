package nft

import (
	"golang.org/x/sys/unix"
)

// addChain adds a chain that is not a base chain.
func (e *encoder) addChain(id ID) {
	e.message(unix.NFT_MSG_NEWCHAIN, unix.NLM_F_CREATE, id.Table,
		attribute(unix.NFTA_CHAIN_TABLE, text(id.Table.Name)), attribute(unix.NFTA_CHAIN_NAME, text(id.Name)))
}

func (e *encoder) deleteChain(id ID) {
	e.message(unix.NFT_MSG_DELCHAIN, 0, id.Table,
		attribute(unix.NFTA_CHAIN_TABLE, text(id.Table.Name)), attribute(unix.NFTA_CHAIN_NAME, text(id.Name)))
}

// flushChain deletes the rules of a chain.
func (e *encoder) flushChain(id ID) {
	e.message(unix.NFT_MSG_DELRULE, 0, id.Table,
		attribute(unix.NFTA_RULE_TABLE, text(id.Table.Name)), attribute(unix.NFTA_RULE_CHAIN, text(id.Name)))
}

func (e *encoder) deleteSet(id ID) {
	e.message(unix.NFT_MSG_DELSET, 0, id.Table,
		attribute(unix.NFTA_SET_TABLE, text(id.Table.Name)), attribute(unix.NFTA_SET_NAME, text(id.Name)))
}

// addSet adds a set without options.
func (e *encoder) addSet(id ID, s *Set) error {
	if s.Type != "mark" || s.Data != "" || s.Options != "" {
		return errIndirect
	}
	e.sets++
	e.message(unix.NFT_MSG_NEWSET, unix.NLM_F_CREATE, id.Table,
		attribute(unix.NFTA_SET_TABLE, text(id.Table.Name)), attribute(unix.NFTA_SET_NAME, text(id.Name)),
		attribute(unix.NFTA_SET_FLAGS, big32(0)), attribute(unix.NFTA_SET_KEY_TYPE, big32(typeMark)),
		attribute(unix.NFTA_SET_KEY_LEN, big32(4)), attribute(unix.NFTA_SET_ID, big32(e.sets)),
		attribute(unix.NFTA_SET_USERDATA, keyOrder(hostOrder)))
	return nil
}

// Types of keys and values, enum datatypes of nft's datatype.h.
const (
	typeInteger = 4
	typeMark    = 19
)

// keyOrder returns the user data that tells nft the byte order of keys, see
// NFTNL_UDATA_SET_KEYBYTEORDER of libnftnl's udata.h and enum byteorder of nft's
// datatype.h.
func keyOrder(order uint32) []byte { return append([]byte{0, 4}, native32(order)...) }

const hostOrder = 1

// anonymous adds a set or map for one rule, whose keys and values have four bytes. It returns
// the name and number for the lookup.
func (e *encoder) anonymous(t Table, keyType uint32, keys, values [][]byte) (name string, id uint32) {
	e.sets++
	name, id = "__set%d", e.sets
	flags := uint32(unix.NFT_SET_ANONYMOUS | unix.NFT_SET_CONSTANT)
	data := []byte(nil)
	if values != nil {
		name, flags = "__map%d", flags|unix.NFT_SET_MAP
		data = append(attribute(unix.NFTA_SET_DATA_TYPE, big32(typeMark)), attribute(unix.NFTA_SET_DATA_LEN, big32(4))...)
	}
	user := keyOrder(hostOrder)
	if values != nil { // NFTNL_UDATA_SET_DATABYTEORDER
		user = append(append(user, 1, 4), native32(hostOrder)...)
	}
	e.message(unix.NFT_MSG_NEWSET, unix.NLM_F_CREATE, t,
		attribute(unix.NFTA_SET_TABLE, text(t.Name)), attribute(unix.NFTA_SET_NAME, text(name)),
		attribute(unix.NFTA_SET_FLAGS, big32(flags)), attribute(unix.NFTA_SET_KEY_TYPE, big32(keyType)),
		attribute(unix.NFTA_SET_KEY_LEN, big32(4)), data, attribute(unix.NFTA_SET_ID, big32(id)),
		nested(unix.NFTA_SET_DESC, attribute(unix.NFTA_SET_DESC_SIZE, big32(uint32(len(keys))))),
		attribute(unix.NFTA_SET_USERDATA, user))
	list := make([][]byte, len(keys))
	for i, k := range keys {
		list[i] = nested(unix.NFTA_SET_ELEM_KEY, attribute(unix.NFTA_DATA_VALUE, k))
		if values != nil {
			list[i] = append(list[i], nested(unix.NFTA_SET_ELEM_DATA, attribute(unix.NFTA_DATA_VALUE, values[i]))...)
		}
	}
	e.elementList(unix.NFT_MSG_NEWSETELEM, unix.NLM_F_CREATE, ID{t, name}, id, list)
	return name, id
}

// maxList bounds a list of elements in bytes: the length of an attribute has 16 bits.
const maxList = 32 << 10

// elementList adds or deletes elements, each given by its attributes. set is the number of a
// set that the batch adds, else 0.
func (e *encoder) elementList(kind, flags uint16, id ID, set uint32, list [][]byte) {
	of := append(attribute(unix.NFTA_SET_ELEM_LIST_TABLE, text(id.Table.Name)), attribute(unix.NFTA_SET_ELEM_LIST_SET, text(id.Name))...)
	if set != 0 {
		of = append(of, attribute(unix.NFTA_SET_ELEM_LIST_SET_ID, big32(set))...)
	}
	for len(list) > 0 {
		var some []byte
		for len(list) > 0 && len(some) < maxList {
			some = append(some, nested(unix.NFTA_LIST_ELEM, list[0])...)
			list = list[1:]
		}
		e.message(kind, flags, id.Table, of, nested(unix.NFTA_SET_ELEM_LIST_ELEMENTS, some))
	}
}
