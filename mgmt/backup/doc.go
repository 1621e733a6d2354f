// Package backup makes archives of everything an operator would miss, keeps them in a
// folder of the data directory, and restores them.
//
// An archive is a gzipped tar:
//
//	manifest.json        which product, release, node and time; size and SHA-256 of each member
//	configuration.yaml   the configuration in force, a document as any other
//	store.json           certificates, authorities, API keys, settings, and the documents of
//	                     other packages: users, groups and roles, and more
//	hooks/NAME           programs of the operator: hooks and scripts
//	plugins/NAME         and plugins of checks
//	geoip.table          the GeoIP database, where there is one that is not too large
//	node-keys.json       only in what is encrypted
//
// Private keys and other secrets are in it as they are in the store: sealed with the
// node key. Without a passphrase an archive can therefore be restored where that key is,
// and nowhere else. With one everything but the manifest is in one member, content.age,
// encrypted with age (scrypt); the node key is among it, and the archive can be restored
// anywhere: the node that does so keeps the key beside its own (mgmt/certs/ring.go). What
// is not encrypted still has hashes of passwords and keys in it: keep it as a secret.
//
// The history, logs, numbers over time, the certificate of the API and the node key of
// an archive without a passphrase are in none.
//
// # Restoring
//
// An archive is read whole and checked before anything happens: every member is listed
// in the manifest, has its size and sum, and is a plain file with a name that is known;
// what it expands to is bounded. Then the applier and the store replace everything in one
// step, with one revision. What was there before is an archive of its own, Before, so
// that it can be taken back with certificates and users as well.
//
// Programs of the operator lie in files, outside of that step: they are noted in it,
// and written after it, or at the next start (Finish). The GeoIP database is put in its
// place after it; an archive without one leaves that of the node. Only who applies an archive on
// the machine itself gets them: who has an API key alone cannot bring programs.
package backup
