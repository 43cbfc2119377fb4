// SPDX-License-Identifier: GPL-3.0-or-later
// Nothing here: the target of this file only carries a precompiled header.
