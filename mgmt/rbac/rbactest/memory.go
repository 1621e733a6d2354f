// Package rbactest provides books of users in memory for tests.
package rbactest

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Memory is a Keeper in memory. A test may read Kept.
type Memory struct {
	Kept map[string][]byte
	Full bool // writes fail
}

// ReadDocument implements rbac.Keeper.
func (m *Memory) ReadDocument(name string, into any) (bool, error) {
	b, found := m.Kept[name]
	if !found {
		return false, nil
	}
	return true, json.Unmarshal(b, into)
}

// WriteDocument implements rbac.Keeper.
func (m *Memory) WriteDocument(name string, value any) (err error) {
	if m.Full {
		return errors.New("the disk is full")
	}
	if m.Kept == nil {
		m.Kept = map[string][]byte{}
	}
	m.Kept[name], err = json.Marshal(value)
	return err
}

// Book returns a book over memory, with only root in it and cheap passwords.
func Book(t testing.TB, m *Memory) *rbac.Book {
	t.Helper()
	b, err := rbac.NewBook(m)
	if err != nil {
		t.Fatal(err)
	}
	b.Cost = Cheap
	return b
}

// Cheap is the minimum cost of a hash, because tests make thousands.
var Cheap = rbac.Cost{Memory: 8, Passes: 1}

// Sealer seals and opens secrets, each for one purpose only.
type Sealer struct{}

// SealSecret implements rbac.Sealer.
func (Sealer) SealSecret(purpose string, plain []byte) ([]byte, error) {
	return append([]byte(purpose+"\x00"), flipped(plain)...), nil
}

// OpenSecret implements rbac.Sealer.
func (Sealer) OpenSecret(purpose string, sealed []byte) ([]byte, error) {
	rest, is := bytes.CutPrefix(sealed, []byte(purpose+"\x00"))
	if !is {
		return nil, errors.New("it was sealed for something else")
	}
	return flipped(rest), nil
}

func flipped(b []byte) []byte {
	out := make([]byte, len(b))
	for i := range b {
		out[i] = ^b[i]
	}
	return out
}
