// Package notify sends mails about what operators want to hear of: backends that go
// down or come up, certificates that are about to expire.
//
//	LookBackends, LookCertificates ─► digest ─► queue ─► mgmt/notify/mail
//
// A state has to last before it is told (avoidflappingtime), and what happens at about
// the same time goes in one mail: the first after GatherTime, others not more often than
// every QuietTime. Mails wait in a bounded queue, are tried again with growing pauses
// for a day, and hold up nobody. There is a goroutine only while one waits.
//
// Without a mail server nothing is sent, and the answers of the API say so. The settings
// are a document of the store, not of the configuration: they hold a password, which is
// sealed, and belong to one node.
package notify
