package certs

import (
	"bytes"
	"crypto/cipher"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluicelb/sluice/mgmt/disk"
)

// Beside the node key may lie keys of other nodes, whose backups were restored here,
// as node-ID.key: they open what those nodes sealed, and seal nothing.

// NodeKeyID is how a node key is called: 16 hexadecimal digits that tell nothing of it.
func NodeKeyID(key []byte) string {
	id := idOf(key)
	return hex.EncodeToString(id[:])
}

// otherFile is where the key of another node lies.
func (n *nodeKey) otherFile(id string) string {
	return filepath.Join(filepath.Dir(n.path), "node-"+id+".key")
}

// other returns the cipher of another node's key, nil when it is not here.
func (n *nodeKey) other(id [idSize]byte) cipher.AEAD {
	n.mu.Lock()
	defer n.mu.Unlock()
	if aead := n.others[id]; aead != nil {
		return aead
	}
	key, err := readNodeKey(n.otherFile(hex.EncodeToString(id[:])))
	if err != nil || idOf(key) != id {
		return nil
	}
	aead, err := cipherOf(key)
	if err != nil {
		return nil
	}
	if n.others == nil {
		n.others = map[[idSize]byte]cipher.AEAD{}
	}
	n.others[id] = aead
	return aead
}

// NodeKeys returns the node key, first, and those of other nodes that are here. Who has
// them and the store has every secret: they go nowhere but into what is encrypted.
func (b *Book) NodeKeys() ([][]byte, error) {
	key, err := readNodeKey(b.node.path)
	if err != nil {
		return nil, err
	}
	keys := [][]byte{key}
	files, err := filepath.Glob(b.node.otherFile("*"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		key, err := readNodeKey(file)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(file, "node-"+NodeKeyID(key)+".key") {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// KnowsNodeKey reports whether what was sealed with that node key can be opened here.
func (b *Book) KnowsNodeKey(id string) bool {
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != idSize {
		return false
	}
	_, own, err := b.node.load()
	return err == nil && (own == [idSize]byte(raw) || b.node.other([idSize]byte(raw)) != nil)
}

// TrustNodeKey opens what another node sealed with this key, until the process ends.
func (b *Book) TrustNodeKey(key []byte) error {
	if len(key) != nodeKeySize {
		return fmt.Errorf("a node key has %d bytes, not %d", nodeKeySize, len(key))
	}
	aead, err := cipherOf(key)
	if err != nil {
		return err
	}
	b.node.mu.Lock()
	defer b.node.mu.Unlock()
	if b.node.others == nil {
		b.node.others = map[[idSize]byte]cipher.AEAD{}
	}
	b.node.others[idOf(key)] = aead
	return nil
}

// AddNodeKey keeps the key of another node. It is on disk when it returns.
func (b *Book) AddNodeKey(key []byte) error {
	if len(key) != nodeKeySize {
		return fmt.Errorf("a node key has %d bytes, not %d", nodeKeySize, len(key))
	}
	if own, err := readNodeKey(b.node.path); err == nil && bytes.Equal(own, key) {
		return nil
	}
	path := b.node.otherFile(NodeKeyID(key))
	if there, err := readNodeKey(path); err == nil && bytes.Equal(there, key) {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // one that cannot be used
		return err
	}
	return disk.Create(path, key)
}
