// Package backup creates archives of an operator's data, stores them in a folder of the
// data directory, and restores them.
//
// An archive is a gzipped tar:
//
//	manifest.json        product, release, node and time; size and SHA-256 of each member
//	configuration.yaml   the current configuration, an ordinary document
//	store.json           certificates, authorities, API keys, settings, and the documents of
//	                     other packages: users, groups and roles, and more
//	hooks/NAME           operator programs: hooks and scripts
//	plugins/NAME         and check plugins
//	geoip.table          the GeoIP database, if there is one that is not too large
//	node-keys.json       only in encrypted archives
//
// Private keys and other secrets are sealed with the node key, as in the store. So an
// archive without a passphrase can only be restored where that key is available. With a
// passphrase, everything except the manifest is in the member content.age, encrypted with
// age (scrypt). It includes the node key, so the archive can be restored anywhere; the
// restoring node stores the key next to its own (mgmt/certs/ring.go). An unencrypted
// archive still contains hashes of passwords and keys, so it must be kept secret.
//
// No archive contains the history, logs, statistics or the certificate of the API. Only
// encrypted ones contain the node key.
//
// # Restoring
//
// An archive is read and checked completely before anything changes. Every member must be
// listed in the manifest, match its size and digest, and be a regular file with a known
// name. The expanded size is bounded. Then the applier and the store replace everything in
// one step, as one revision. The previous state is saved in the archive Before, so that a
// restoration can be reverted, including certificates and users.
//
// Operator programs are files outside of that step. The step records them, and they are
// written afterwards or at the next start (Finish). They are restored only if the archive is
// applied on the machine itself, so that an API key alone cannot install programs. The GeoIP
// database is installed after the step; an archive without one keeps that of the node. Like the
// configuration, which refers to it, it is restored for all users who may apply an archive.
//
// Other packages still hold the previous users and settings in memory. Until the process restarts,
// the store refuses to write these (store.ErrRestored): they would replace the restored ones.
package backup
