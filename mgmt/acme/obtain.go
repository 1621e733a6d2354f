package acme

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"

	"github.com/mholt/acmez/v3"
	"github.com/mholt/acmez/v3/acme"

	"github.com/sluicelb/sluice/mgmt/hook"
)

// obtain orders the certificate of a record. It returns the chain and its new key as PEM,
// and the digest of the leaf. It respects the time limit and removes all challenge
// responses.
func (m *Manager) obtain(ctx context.Context, r record) (bundle []byte, leaf string, err error) {
	s := m.stored()
	if s.Email == "" {
		return nil, "", invalid("the mail address for the authority is not set: set email in the configuration of ACME first")
	}
	challenge, solver, err := m.solver(r, s)
	if err != nil {
		return nil, "", err
	}
	transport, err := m.client(s)
	if err != nil {
		return nil, "", err
	}
	defer transport.CloseIdleConnections()
	limit := m.timeout(r.Challenge, s)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, outOfTime(limit))
	defer cancel()
	defer solver.clear(ctx)
	directory := s.directory(r.Test)
	client := &acmez.Client{
		Client:           &acme.Client{Directory: directory, HTTPClient: transport, UserAgent: "Sluice", PollTimeout: limit},
		ChallengeSolvers: map[string]acmez.Solver{challenge: solver},
	}
	account, err := m.account(ctx, client.Client, directory, s.Email)
	if err != nil {
		return nil, "", m.explain(ctx, err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", err
	}
	chains, err := client.ObtainCertificateForSANs(ctx, account, key, r.Domains)
	if err != nil {
		return nil, "", m.explain(ctx, err)
	}
	if len(chains) == 0 {
		return nil, "", invalid("the authority issued nothing")
	}
	if leaf, err = checkLeaf(chains[0].ChainPEM, r.Domains); err != nil {
		return nil, "", err
	}
	bundle, err = withKey(chains[0].ChainPEM, key)
	return bundle, leaf, err
}

// challengeSolver presents challenge responses and removes them.
type challengeSolver interface {
	acmez.Solver
	clear(ctx context.Context)
}

// solver returns the solver for a record's challenge. An error means that contacting the
// authority is pointless.
func (m *Manager) solver(r record, s Settings) (challenge string, solver challengeSolver, err error) {
	if r.Challenge != DNS01 {
		at, err := m.endpoint(r.Target)
		return acme.ChallengeTypeHTTP01, &httpSolver{m: m, endpoint: at}, err
	}
	if s.Hook == "" {
		return "", nil, invalid("no hook is set that could make DNS records: put a program into the folder %s of the data directory and set hook in the configuration of ACME", hook.Folder)
	}
	h := recordHook{hook.Program{Folder: m.options.Hooks, Name: s.Hook}, m.options.By}
	return acme.ChallengeTypeDNS01, &dnsSolver{m: m, hook: h, servers: s.DNSServers, wait: s.dnsWait()}, h.check()
}

// checkLeaf returns the digest of the first certificate if it covers all domains. A mistake
// of the authority must not replace a working certificate.
func checkLeaf(chain []byte, domains []string) (string, error) {
	block, _ := pem.Decode(chain)
	if block == nil || block.Type != "CERTIFICATE" {
		return "", invalid("the authority sent something that is no certificate")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", invalid("the authority sent a certificate that cannot be read: %s", show(err.Error()))
	}
	for _, domain := range domains {
		if leaf.VerifyHostname(domain) != nil {
			return "", invalid("the authority sent a certificate that is not for %s", domain)
		}
	}
	return sum(leaf.Raw), nil
}

// withKey appends the key to a chain.
func withKey(chain []byte, key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	defer clear(der)
	block := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	defer clear(block)
	out := make([]byte, 0, len(chain)+1+len(block))
	return append(append(append(out, chain...), '\n'), block...), nil
}
