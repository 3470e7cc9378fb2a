package rankcore

import "sync/atomic"

// Slot is room in an answer for the form in which it is sent, so that an answer that many get is encoded once. What a
// form is, is the business of whoever sends it. Safe for concurrent use. An answer with a Slot is not copied; With
// makes another one, whose Slot is empty.
type Slot struct {
	_    noCopy
	form atomic.Value
}

// Form is what the slot was filled with, or nil.
func (s *Slot) Form() any { return s.form.Load() }

// Fill puts form into the slot, unless somebody was first, and returns what is in it. All forms have one type. A form
// that may come to take more memory than its answer's FormBytes stays out: whoever keeps the answer counts on that.
func (s *Slot) Fill(form any) any {
	if s.form.CompareAndSwap(nil, form) {
		return form
	}
	return s.form.Load()
}

// noCopy makes vet tell of copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// What a form may take: for what every answer says, and for each row, beside twice its user id. Text with its numbers in
// decimal takes less, so that there is room for a packed copy; ids that double when they are quoted may not fit.
const (
	formBytes = 640
	rowBytes  = 64
)

// FormBytes bounds the memory of the page's form, in bytes.
func (p *Page) FormBytes() int {
	n := formBytes + len(p.Entries)*rowBytes
	for i := range p.Entries {
		n += 2 * len(p.Entries[i].User)
	}
	return n
}

// FormBytes bounds the memory of the standing's form, in bytes.
func (s *Standing) FormBytes() int { return formBytes + 2*len(s.User) }
