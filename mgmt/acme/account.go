package acme

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mholt/acmez/v3/acme"
)

// savedAccount is a stored account, one for each directory.
type savedAccount struct {
	// Email is the contact known to the authority; "" before registration.
	Email string `json:"email,omitempty"`
	// Key is the account's private key, PKCS #8, sealed.
	Key []byte `json:"key"`
}

// account returns the account at a directory. If the authority does not know the key, it
// creates an account, otherwise it returns the existing one (RFC 8555 §7.3.1). So an account
// that the authority lost is replaced.
func (m *Manager) account(ctx context.Context, client *acme.Client, directory, email string) (acme.Account, error) {
	name := accountName(directory)
	saved, key, err := m.accountKey(name)
	if err != nil {
		return acme.Account{}, err
	}
	contact := []string{"mailto:" + email}
	account, err := client.NewAccount(ctx, acme.Account{Contact: contact, TermsOfServiceAgreed: true, PrivateKey: key})
	if err != nil {
		return acme.Account{}, err
	}
	if saved.Email == email {
		return account, nil
	}
	if saved.Email != "" {
		location := account.Location // the response does not repeat it
		account.Contact = contact
		if account, err = client.UpdateAccount(ctx, account); err != nil {
			return acme.Account{}, err
		}
		account.Location = location
	}
	saved.Email = email
	return account, m.saveAccount(name, saved)
}

// accountKey returns the stored account and its key. If the key cannot be decrypted, e.g.
// after loss of the node key, it creates a new one, because only the history of the account
// is lost.
func (m *Manager) accountKey(name string) (savedAccount, *ecdsa.PrivateKey, error) {
	var saved savedAccount
	if text, ok := m.options.Store.Setting(name); ok {
		err := json.Unmarshal([]byte(text), &saved)
		if err == nil {
			var key *ecdsa.PrivateKey
			if key, err = m.openKey(name, saved.Key); err == nil {
				return saved, key, nil
			}
		}
		m.options.Log.Warn("the key of the ACME account is lost: a new account is made", "reason", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return saved, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return saved, nil, err
	}
	defer clear(der)
	sealed, err := m.options.Certificates.SealSecret(name, der)
	if err != nil {
		return saved, nil, invalid("the key of the account cannot be kept: %s", err)
	}
	saved = savedAccount{Key: sealed}
	return saved, key, m.saveAccount(name, saved)
}

func (m *Manager) openKey(name string, sealed []byte) (*ecdsa.PrivateKey, error) {
	der, err := m.options.Certificates.OpenSecret(name, sealed)
	if err != nil {
		return nil, err
	}
	defer clear(der)
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.New("it is damaged")
	}
	ec, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("it is a %T", key)
	}
	return ec, nil
}

func (m *Manager) saveAccount(name string, saved savedAccount) error {
	text, err := json.Marshal(saved)
	if err != nil {
		return err
	}
	return m.options.Store.SetSetting(name, string(text))
}
