"""The language server: findings as you type, fixes, hover, completion, links.

    buffers.py      the texts that the editor holds, and its edits to them
    positions.py    offsets ↔ the protocol's positions, in the encoding that was agreed on
    options.py      what the editor's settings ask of dslint
    index.py        the files of a workspace folder that may have to do with DeepSpeed
    related.py      which of them belong to the files that are open
    judge.py        open texts + files → a judgement: findings and launches; in a thread of its own
    desk.py         when to judge: after a pause in typing, never twice at once, stale work given up
    diagnostics.py, actions.py, hover.py, completion.py, links.py, lens.py
                    a judgement → what the protocol wants
    knowledge.py    what the schemas say of a key, in words
    cursor.py       where in a half-typed config the cursor stands
    app.py          the protocol's messages → all of these

It reads, and answers; files are written by the editor alone. Nothing outside of this folder imports pygls or lsprotocol.
"""
