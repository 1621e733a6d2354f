// Package sealed stores settings that contain a secret. The secret is encrypted with the key
// of the node and is never shown.
package sealed

import "sync"

// Keeper stores values by name; *store.Store implements it.
type Keeper interface {
	ReadDocument(name string, into any) (found bool, err error)
	WriteDocument(name string, value any) error
}

// Sealer encrypts secrets for a purpose; *certs.Book implements it.
type Sealer interface {
	SealSecret(purpose string, plain []byte) ([]byte, error)
	OpenSecret(purpose string, sealed []byte) ([]byte, error)
}

// Document is a stored value of type T with a sealed secret. Set all fields before use. It is
// safe for concurrent use.
type Document[T any] struct {
	Keeper Keeper
	Sealer Sealer
	Name   string
	// Purpose is the purpose of the secret. No other document can use its sealed form.
	Purpose string

	change sync.Mutex
}

// Read returns the stored value, or the zero value if there is none.
func (d *Document[T]) Read() (value T, err error) {
	_, err = d.Keeper.ReadDocument(d.Name, &value)
	return value, err
}

// Change reads the value, edits and stores it. It stores nothing if edit returns an error.
// Only one Change runs at a time.
func (d *Document[T]) Change(edit func(value *T) error) error {
	d.change.Lock()
	defer d.change.Unlock()
	value, err := d.Read()
	if err != nil {
		return err
	}
	if err := edit(&value); err != nil {
		return err
	}
	return d.Keeper.WriteDocument(d.Name, value)
}

// Seal encrypts a secret of the document.
func (d *Document[T]) Seal(plain string) ([]byte, error) {
	return d.Sealer.SealSecret(d.Purpose, []byte(plain))
}

// Open decrypts a secret of the document.
func (d *Document[T]) Open(sealed []byte) ([]byte, error) {
	return d.Sealer.OpenSecret(d.Purpose, sealed)
}
