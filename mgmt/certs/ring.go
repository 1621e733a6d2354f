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

// The data directory may also contain keys of other nodes whose backups were restored here,
// as node-ID.key. They only decrypt what those nodes sealed.

// NodeKeyID returns the ID of a node key: 16 hexadecimal digits that reveal nothing about
// it.
func NodeKeyID(key []byte) string {
	id := idOf(key)
	return hex.EncodeToString(id[:])
}

// otherFile returns the file name of another node's key.
func (n *nodeKey) otherFile(id string) string {
	return filepath.Join(filepath.Dir(n.path), "node-"+id+".key")
}

// other returns the cipher of another node's key, nil if it is missing.
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

// NodeKeys returns the node key, followed by the available keys of other nodes. Together
// with the store they reveal every secret, so they must only be written into encrypted
// data.
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

// KnowsNodeKey reports whether data sealed with that node key can be decrypted here.
func (b *Book) KnowsNodeKey(id string) bool {
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != idSize {
		return false
	}
	_, own, err := b.node.load()
	return err == nil && (own == [idSize]byte(raw) || b.node.other([idSize]byte(raw)) != nil)
}

// TrustNodeKey makes data sealed by another node with this key readable until the process ends or
// forget is called. forget has no effect on a key that was known before.
func (b *Book) TrustNodeKey(key []byte) (forget func(), err error) {
	if len(key) != nodeKeySize {
		return nil, fmt.Errorf("a node key has %d bytes, not %d", nodeKeySize, len(key))
	}
	aead, err := cipherOf(key)
	if err != nil {
		return nil, err
	}
	id := idOf(key)
	if b.KnowsNodeKey(NodeKeyID(key)) {
		return func() {}, nil
	}
	b.node.mu.Lock()
	defer b.node.mu.Unlock()
	if b.node.others == nil {
		b.node.others = map[[idSize]byte]cipher.AEAD{}
	}
	b.node.others[id] = aead
	return func() {
		b.node.mu.Lock()
		defer b.node.mu.Unlock()
		delete(b.node.others, id)
	}, nil
}

// AddNodeKey stores the key of another node. It is on disk on return. undo removes it again if it
// was not there before.
func (b *Book) AddNodeKey(key []byte) (undo func() error, err error) {
	if len(key) != nodeKeySize {
		return nil, fmt.Errorf("a node key has %d bytes, not %d", nodeKeySize, len(key))
	}
	if own, err := readNodeKey(b.node.path); err == nil && bytes.Equal(own, key) {
		return func() error { return nil }, nil
	}
	path := b.node.otherFile(NodeKeyID(key))
	if there, err := readNodeKey(path); err == nil && bytes.Equal(there, key) {
		return func() error { return nil }, nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // an unusable one
		return nil, err
	}
	return func() error { return os.Remove(path) }, disk.Create(path, key)
}
