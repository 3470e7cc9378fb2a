// Package journal keeps the quotas of one process in memory, with a file beside it so that a restart, a crash
// or kill -9 gives nobody a second quota. What the operating system has not yet written when the machine itself
// stops may be lost: some units come back, and nothing else.
//
// It remembers answers in memory only, and drops days that are over. It is for one process at a time.
// It may import gateway/quota.
package journal
