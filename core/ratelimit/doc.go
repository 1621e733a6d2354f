// Package ratelimit counts the requests of many clients against one limit: a
// table from a key (address, header, path) to what the key has used up, for
// one service. All loops share it and it survives reloads.
//
// # How is counted
//
// By the generic cell rate algorithm (ITU-T I.371): a key is one number, the
// theoretical arrival time. Every request that passes moves it on by the
// interval between requests at the even pace; a request passes as long as the
// time is not more than the burst ahead of now. Nothing is reset at the end
// of a period and nothing runs in the background: over any span of time pass
// at most burst + span ÷ interval requests, and who keeps to the pace is never
// refused. A request that is refused uses nothing up.
//
// # How it is kept
//
//	table   256 pages, 4 KiB each, made when first used
//	page    32 buckets
//	bucket   8 slots: 128 bytes
//	slot    key (a 64-bit hash), theoretical arrival time: 16 bytes
//
// No lock: a slot is charged by one compare-and-swap of its time. A key whose
// time has come has its whole burst again, as one that was never seen, so its
// slot is free. Keys are hashed with a random seed: clients cannot choose which
// of them meet.
//
// # What an attacker with many keys gets
//
// Memory stays at 1 MiB. Of a bucket whose eight keys are all in debt a new key
// displaces the one that owes least. Newcomers are therefore never refused for
// what others did, and a key at its limit is forgotten only after the seven others
// of its bucket owe as much: that takes about Slots × burst requests that all
// pass, within the time the burst takes to be paid off. Up to a quarter of Slots
// keys in debt at once, fewer than one in a thousand is displaced. Who is
// forgotten begins anew: the table errs towards letting pass.
//
// Loops that meet in a bucket may, in the same nanoseconds, lose or misplace
// the charge of one request each, and only while a key gets or loses its slot.
package ratelimit
