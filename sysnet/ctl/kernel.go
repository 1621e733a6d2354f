package ctl

import (
	"context"
	"os"
	"time"
)

// Operations of the part that carries farms in the kernel (l4/kernel).
const (
	OpKernelApply    Op = "kernel-apply"
	OpKernelCheck    Op = "kernel-check"
	OpKernelState    Op = "kernel-state"
	OpKernelRules    Op = "kernel-rules"
	OpKernelObjects  Op = "kernel-objects"
	OpKernelTraffic  Op = "kernel-traffic"
	OpKernelSessions Op = "kernel-sessions"
	OpKernelSession  Op = "kernel-session"
	OpKernelChange   Op = "kernel-change-session"
	OpKernelLearn    Op = "kernel-learn-sessions"
)

// KernelState is what the kernel carries.
type KernelState struct {
	// Generation is that of the snapshot in force; 0 when this netd has not been
	// given any.
	Generation uint64 `json:"generation"`
	// Problems are farms that are not carried and why, by ID.
	Problems map[uint32]string `json:"problems,omitempty"`
	// Warnings are backends that get nothing though their farm is carried, and
	// firewalls that may drop its packets, in sentences, by ID of the farm.
	Warnings map[uint32][]string `json:"warnings,omitempty"`
	// Restored counts how often rules were made anew because somebody else had
	// removed or changed them.
	Restored uint64 `json:"restored,omitempty"`
}

// KernelApply has the kernel carry the farms of a snapshot and no others. The
// result tells which are not carried, and why.
func (c *Client) KernelApply(ctx context.Context, snapshot *os.File) (KernelState, error) {
	var s KernelState
	err := c.Ask(ctx, OpKernelApply, struct{}{}, &s, snapshot)
	return s, err
}

// KernelCheck asks which farms of a snapshot the kernel would not carry, and
// changes nothing. What is found out by trying only is not told.
func (c *Client) KernelCheck(ctx context.Context, snapshot *os.File) (KernelState, error) {
	var s KernelState
	err := c.Ask(ctx, OpKernelCheck, struct{}{}, &s, snapshot)
	return s, err
}

// KernelState asks what the kernel carries.
func (c *Client) KernelState(ctx context.Context) (KernelState, error) {
	var s KernelState
	err := c.Ask(ctx, OpKernelState, struct{}{}, &s)
	return s, err
}

// KernelFarm names a farm.
type KernelFarm struct {
	Farm uint32 `json:"farm"`
}

// KernelRules is what is in the kernel for a farm, as text; empty when it is
// not carried there.
func (c *Client) KernelRules(ctx context.Context, farm uint32) (text string, err error) {
	err = c.Ask(ctx, OpKernelRules, KernelFarm{farm}, &text)
	return text, err
}

// KernelObject is something of ours in the kernel.
type KernelObject struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Detail string `json:"detail,omitempty"`
}

// KernelObjects lists what of ours is in the packet filter.
func (c *Client) KernelObjects(ctx context.Context) (list []KernelObject, err error) {
	err = c.Ask(ctx, OpKernelObjects, struct{}{}, &list)
	return list, err
}

// KernelCount is what was counted of a farm or a backend. In is from clients,
// Out to them. Established and Pending are connections open now.
type KernelCount struct {
	Connections uint64 `json:"connections"`
	Established uint64 `json:"established"`
	Pending     uint64 `json:"pending"`
	PacketsIn   uint64 `json:"packets_in"`
	BytesIn     uint64 `json:"bytes_in"`
	PacketsOut  uint64 `json:"packets_out"`
	BytesOut    uint64 `json:"bytes_out"`
}

// Add adds what was counted elsewhere.
func (c *KernelCount) Add(o KernelCount) {
	c.Connections += o.Connections
	c.Established += o.Established
	c.Pending += o.Pending
	c.PacketsIn += o.PacketsIn
	c.BytesIn += o.BytesIn
	c.PacketsOut += o.PacketsOut
	c.BytesOut += o.BytesOut
}

// CountIn adds packets from clients, CountOut packets to them.
func (c *KernelCount) CountIn(packets, bytes uint64) {
	c.PacketsIn, c.BytesIn = c.PacketsIn+packets, c.BytesIn+bytes
}

// CountOut is CountIn the other way.
func (c *KernelCount) CountOut(packets, bytes uint64) {
	c.PacketsOut, c.BytesOut = c.PacketsOut+packets, c.BytesOut+bytes
}

// KernelTraffic is what was counted, by ID.
type KernelTraffic struct {
	Farms    map[uint32]KernelCount `json:"farms"`
	Backends map[uint32]KernelCount `json:"backends"`
}

// KernelTraffic asks for the counters of all farms the kernel carries.
func (c *Client) KernelTraffic(ctx context.Context) (t KernelTraffic, err error) {
	err = c.Ask(ctx, OpKernelTraffic, struct{}{}, &t)
	return t, err
}

// KernelSession is a persistence session of a farm the kernel carries.
type KernelSession struct {
	// Key is text, as operators write it: "10.0.0.1 . 4022".
	Key     string        `json:"key"`
	Backend uint32        `json:"backend"`
	TTL     time.Duration `json:"ttl,omitempty"`
	Static  bool          `json:"static,omitempty"`
}

// KernelSessions are sessions of a farm and how many there are.
type KernelSessions struct {
	Total int             `json:"total"`
	List  []KernelSession `json:"list,omitempty"`
}

// KernelQuestion asks for sessions by the number of the farm's group of
// backends: at most Limit, or the one of Key.
type KernelQuestion struct {
	Service uint32 `json:"service"`
	Limit   int    `json:"limit,omitempty"`
	Key     string `json:"key,omitempty"`
}

// KernelSessions lists sessions of a farm, at most limit.
func (c *Client) KernelSessions(ctx context.Context, service uint32, limit int) (s KernelSessions, err error) {
	err = c.Ask(ctx, OpKernelSessions, KernelQuestion{Service: service, Limit: limit}, &s)
	return s, err
}

// KernelSession finds the session of a client.
func (c *Client) KernelSession(ctx context.Context, service uint32, key string) (s KernelSession, ok bool, err error) {
	var found KernelSessions
	if err := c.Ask(ctx, OpKernelSession, KernelQuestion{Service: service, Key: key}, &found); err != nil || len(found.List) == 0 {
		return s, false, err
	}
	return found.List[0], true, nil
}

// KernelAct is what happens to sessions.
type KernelAct string

// The acts.
const (
	KernelAdd    KernelAct = "add"    // Key goes to Backend for TTL, 0 is the farm's
	KernelDelete KernelAct = "delete" // Key is forgotten
	KernelFlush  KernelAct = "flush"  // all but the static ones are
)

// KernelChange changes sessions of a farm.
type KernelChange struct {
	Service uint32        `json:"service"`
	Act     KernelAct     `json:"act"`
	Key     string        `json:"key,omitempty"`
	Backend uint32        `json:"backend,omitempty"`
	TTL     time.Duration `json:"ttl,omitempty"`
}

// KernelChange changes sessions and tells how many were changed.
func (c *Client) KernelChange(ctx context.Context, change KernelChange) (changed int, err error) {
	err = c.Ask(ctx, OpKernelChange, change, &changed)
	return changed, err
}

// KernelLearned are sessions a farm is to know.
type KernelLearned struct {
	Service uint32          `json:"service"`
	List    []KernelSession `json:"list"`
}

// KernelLearn makes clients known to a farm as if they had come themselves, and
// tells how many were. The list travels in sealed memory.
func (c *Client) KernelLearn(ctx context.Context, learned KernelLearned) (n int, err error) {
	err = c.askSealed(ctx, OpKernelLearn, "sluice-sessions", learned, &n)
	return n, err
}

// OpenLearned reads what KernelLearn sent.
func OpenLearned(files []*os.File) (l KernelLearned, err error) {
	err = openSealed(files, "sessions", maxLearned, &l)
	return l, err
}

// maxLearned bounds the sessions of one request in bytes: a hundred thousand
// take some 12 MiB.
const maxLearned = 16 << 20
