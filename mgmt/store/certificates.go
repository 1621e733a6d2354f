package store

import (
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Certificate is a certificate with its private key, or a CSR with the key it was created for.
// Certificates belong to the node: they are in no revision, document or export.
type Certificate struct {
	// Name is unique: "shop.pem" for a certificate, "shop.csr" for a CSR.
	Name string `json:"name"`
	// Chain is DER, leaf first; empty in a CSR.
	Chain [][]byte `json:"chain,omitempty"`
	// Request is the CSR, DER; empty in a certificate.
	Request []byte `json:"request,omitempty"`
	// Key is the private key, sealed by mgmt/certs. The store never has it in plain form.
	Key []byte `json:"key"`
	// Staple is the last good OCSP response, DER.
	Staple []byte    `json:"staple,omitempty"`
	Added  time.Time `json:"added"`
	Author string    `json:"author"`
	// Previous is the certificate that this one replaced, without its own Previous and staple,
	// or nil.
	Previous *Certificate `json:"previous,omitempty"`
}

// Authority is a list of certification authorities and their revocations.
type Authority struct {
	Name         string    `json:"name"`
	Certificates [][]byte  `json:"certificates"`      // DER
	Revoked      [][]byte  `json:"revoked,omitempty"` // CRLs, DER
	Added        time.Time `json:"added"`
	Author       string    `json:"author"`
}

// Certificates returns all certificates and CSRs, sorted by name.
func (s *Store) Certificates() ([]Certificate, error) {
	return readAll[Certificate](s, certificatesBucket)
}

// Authorities returns all lists of authorities, sorted by name.
func (s *Store) Authorities() ([]Authority, error) {
	return readAll[Authority](s, authoritiesBucket)
}

func readAll[T any](s *Store, bucket []byte) ([]T, error) {
	var out []T
	err := s.view(func(tx *bolt.Tx) error {
		return tx.Bucket(bucket).ForEach(func(k, v []byte) error {
			var one T
			if err := unseal(v, &one); err != nil {
				return fmt.Errorf("read %s %q from %s: %w", bucket, k, s.name, err)
			}
			out = append(out, one)
			return nil
		})
	})
	return out, err
}

// ChangeCertificates writes and removes certificates in one synced transaction. After an error
// nothing has changed.
func (s *Store) ChangeCertificates(put []Certificate, remove ...string) error {
	return s.changeNamed(certificatesBucket, remove, func(b *bolt.Bucket) error {
		for i := range put {
			if err := putRecord(b, []byte(put[i].Name), &put[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// PutAuthority writes a list of authorities under its name.
func (s *Store) PutAuthority(a Authority) error {
	return s.changeNamed(authoritiesBucket, nil, func(b *bolt.Bucket) error { return putRecord(b, []byte(a.Name), &a) })
}

// DeleteAuthority removes a list of authorities; a missing one is no error.
func (s *Store) DeleteAuthority(name string) error {
	return s.changeNamed(authoritiesBucket, []string{name}, func(*bolt.Bucket) error { return nil })
}

func (s *Store) changeNamed(bucket []byte, remove []string, put func(*bolt.Bucket) error) error {
	s.write.Lock()
	defer s.write.Unlock()
	return s.changeBucket(bucket, remove, put)
}

// changeBucket is changeNamed for callers that hold s.write.
func (s *Store) changeBucket(bucket []byte, remove []string, put func(*bolt.Bucket) error) error {
	err := s.update(0, func(tx *bolt.Tx) error {
		b := tx.Bucket(bucket)
		for _, name := range remove {
			if err := b.Delete([]byte(name)); err != nil {
				return err
			}
		}
		return put(b)
	})
	if err != nil {
		return fmt.Errorf("write %s to %s: %w", bucket, s.name, err)
	}
	return nil
}
